/** The same with Deno, which this fetches. */
import './forward-run.test.ts'
