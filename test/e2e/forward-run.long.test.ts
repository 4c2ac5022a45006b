/** The same with Deno, which this fetches. */
import './forward-run.program.test.ts'
