import { effect, type ReadonlySignal, signal, untracked } from '../../kit/signals.ts'
import { api, may, session } from '../../session.ts'
import type { Usage } from '../settings/usage.ts'

const isEmpty = signal(false)
let isRequested = false

/** True on a vault without tokens, as it was when the session's keys could first tell. */
export const isVaultEmpty: ReadonlySignal<boolean> = isEmpty

if (globalThis.document !== undefined)
  effect(() => {
    if (isRequested || session.value === undefined || !may('report:read')) return
    isRequested = true
    untracked(() => api.call<Usage>('GET', '/tenants/self/reports/usage')).then(
      ({ token_report }) => {
        isEmpty.value = token_report.total_tokens === 0
      },
      () => {}, // not offered
    )
  })
