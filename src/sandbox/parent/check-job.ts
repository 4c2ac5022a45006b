import type { CodeIssue } from '../../sdk/index.ts'
import type { SandboxLimits } from '../types.ts'
import type { Channel, Job, Source } from './job.ts'
import { limitSentence } from './limit-messages.ts'

/** A check as a job of the pool. Calls `resolve` once, at the latest after `withinMs`. */
export const createCheckJob = (
  id: number,
  source: Source,
  limits: SandboxLimits,
  options: { readonly withinMs: number; readonly resolve: (issues: readonly CodeIssue[]) => void },
): Job => {
  let over = false
  let channel: Channel | undefined
  const finish = (issues: readonly CodeIssue[]): void => {
    if (over) return
    over = true
    clearTimeout(timer)
    options.resolve(issues)
  }
  const issue = (message: string) => finish([{ line: 1, column: 1, message }])
  const timer = setTimeout(() => {
    issue('The sandbox is at capacity. Retry later.')
    channel?.send({ kind: 'cancel', id, tenantId: source.tenantId })
  }, options.withinMs)

  return {
    id,
    source,
    repeatable: true,
    budgetMs: undefined,
    get over() {
      return over
    },
    begin: (assigned) => {
      channel = assigned
      channel.send({ kind: 'check', id, tenantId: source.tenantId, key: source.key, cpuMs: limits.cpuMs })
    },
    onCall: () => {},
    onEnded: () => issue('The code could not be checked.'),
    onChecked: finish,
    fail: (limit) => issue(`Loading the code failed. ${limitSentence(limit, limits, source)}`),
  }
}
