/** The same with Go, whose compiler takes twenty seconds of CPU for the standard library. */
import './forward-clients.shared.test.ts'
