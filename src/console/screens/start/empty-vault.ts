import type { ListResponse } from '../../kit/list.ts'
import { effect, type ReadonlySignal, signal, untracked } from '../../kit/signals.ts'
import { api, may } from '../../session.ts'
import type { Usage } from '../settings/usage.ts'

const isEmpty = signal(false)

/** True on a vault without tokens and proxies, as it was when that was looked at last. */
export const isVaultEmpty: ReadonlySignal<boolean> = isEmpty

const look = async (): Promise<boolean> => {
  const signal = AbortSignal.timeout(2_000)
  const hasTokens = async () =>
    (await api.call<Usage>('GET', '/tenants/self/reports/usage', { signal })).token_report.total_tokens > 0
  const hasProxies = async () =>
    may('proxy:read') &&
    (await api.call<ListResponse<unknown>>('GET', '/proxies', { query: { size: 1 }, signal })).data.length > 0
  try {
    isEmpty.value = may('report:read') && !(await Promise.all([hasTokens(), hasProxies()])).includes(true)
  } catch {
    isEmpty.value = false
  }
  return isEmpty.peek()
}

let looking: Promise<boolean> | undefined

/** Looks whether the vault is empty; false where the keys may not see that, or Sidevault does not respond. */
export const checkVault = (): Promise<boolean> => {
  looking ??= look().finally(() => {
    looking = undefined
  })
  return looking
}

let isChecked = false
if (globalThis.document !== undefined)
  effect(() => {
    if (isChecked || !may('report:read')) return
    isChecked = true
    untracked(() => void checkVault())
  })
