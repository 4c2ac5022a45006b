import type { CodeIssue } from '../../sdk/index.ts'
import type { SandboxLimits } from '../types.ts'
import type { Channel, Job, Source } from './job.ts'
import { limitSentence } from './limit-messages.ts'

export interface Checked {
  readonly issues: readonly CodeIssue[]
  readonly exportsFunction: boolean
}

/** A check as a job of the pool. Calls `resolve` once, at the latest after `withinMs`. */
export const createCheckJob = (
  id: number,
  source: Source,
  limits: SandboxLimits,
  options: { readonly withinMs: number; readonly resolve: (checked: Checked) => void },
): Job => {
  let over = false
  let channel: Channel | undefined
  const finish = (checked: Checked): void => {
    if (over) return
    over = true
    clearTimeout(timer)
    options.resolve(checked)
  }
  const issue = (message: string) =>
    finish({ issues: [{ line: 1, column: 1, message }], exportsFunction: false })
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
    onChecked: (issues, exportsFunction) => finish({ issues, exportsFunction }),
    fail: (limit) => issue(`Loading the code failed. ${limitSentence(limit, limits, source)}`),
  }
}
