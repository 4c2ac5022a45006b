import { type ReadonlySignal, signal } from '../../kit/signals.ts'
import { api, may } from '../../session.ts'

const isEmpty = signal(false)

/** True on a vault without tokens and proxies, as it was when that was looked at last. */
export const isVaultEmpty: ReadonlySignal<boolean> = isEmpty

interface Usage {
  readonly token_report: { readonly total_tokens: number }
}

const look = async (): Promise<boolean> => {
  if (!may('report:read')) return false
  const signal = AbortSignal.timeout(2_000)
  const usage = api.call<Usage>('GET', '/tenants/self/reports/usage', { signal })
  const proxies = may('proxy:read')
    ? api.call<{ readonly data: readonly unknown[] }>('GET', '/proxies', { query: { size: 1 }, signal })
    : { data: [] }
  const [{ token_report }, { data }] = await Promise.all([usage, proxies])
  return token_report.total_tokens === 0 && data.length === 0
}

/** Looks whether the vault is empty; false where the keys may not see that, or Sidevault does not respond. */
export const checkVault = async (): Promise<boolean> => {
  isEmpty.value = await look().catch(() => false)
  return isEmpty.peek()
}
