/** The same with Deno, which this fetches. */
import './forward-run.shared.test.ts'
