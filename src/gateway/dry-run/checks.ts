/** Checks of plugins in the report of a dry run (completions §18). */
import type { CheckResult, RunningCheck } from '../checks.ts'

/** `not_run`: a dry run has no response, unless the caller gave it one. `ms`: its time. */
export type CheckPlan = Pick<RunningCheck, 'name' | 'on' | 'fail'> &
  (CheckResult | { readonly verdict: 'not_run' })

export const planOfCheck = ({ name, on, fail }: RunningCheck, result?: CheckResult): CheckPlan => ({
  name,
  on,
  fail,
  ...(result ?? { verdict: 'not_run' }),
})
