import { LRUCache } from 'lru-cache'
import { type Eventual, whenReady } from '../common/eventual.ts'
import { unixHttp } from '../common/unix-http.ts'
import { MAX_HOSTS } from './bound-hosts.ts'

/** Longer than the control plane waits. */
const TIMEOUT_MS = 6_000

/**
 * Waits until Envoy opens a bound host: it is bound as soon as it is stored, and Envoy has its certificate a moment
 * later. Asks the control plane of this machine, once for each host after `changes` moved. Never rejects: Envoy closes
 * a tunnel to a host that it does not open.
 */
export const createOpenedHosts = (
  changes: () => Eventual<number>,
  { control, timeoutMs = TIMEOUT_MS }: { readonly control: string; readonly timeoutMs?: number },
): ((host: string) => Eventual<void>) => {
  const asked = new LRUCache<string, 'settled' | Promise<void>>({ max: MAX_HOSTS.all })
  const ask = async (host: string, question: string): Promise<void> => {
    // Not asked again without a response: a host that Envoy has had for long must not depend on the control plane.
    await unixHttp(control, 'GET', `/forward-hosts/${host}`, { timeoutMs }).catch(() => {})
    asked.set(question, 'settled')
  }
  return (host) =>
    whenReady(changes(), (version) => {
      const question = `${version} ${host}`
      const state = asked.get(question) ?? ask(host, question)
      if (state === 'settled') return
      asked.set(question, state)
      return state
    })
}
