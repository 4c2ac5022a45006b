/** The hosts of the forward proxy that Envoy opens, and those that wait for one. */
import { EventEmitter, once } from 'node:events'
import { holdsHost } from '../egress/host-pattern.ts'
import type { ForwardHost } from './options.ts'

/** A change is in force within a second; a loaded machine takes longer. */
const TIMEOUT_MS = 4_000

interface OpenedHosts {
  /** Resolves with true as soon as Envoy opens `host`, with false if it does not in time. */
  opens(host: string): Promise<boolean>
  /** Runs `change`, which makes Envoy open `hosts` and no others. Settles as it does. */
  change(hosts: readonly ForwardHost[], change: () => Promise<void>): Promise<void>
}

/** `acknowledged`: the hosts of Envoy's acknowledged configuration. */
export const createOpenedHosts = (
  acknowledged: () => readonly ForwardHost[],
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
): OpenedHosts => {
  /** Hosts of changes in progress. Envoy is about to close those that one of them does not name. */
  const pending = new Set<readonly ForwardHost[]>()
  const changes = new EventEmitter().setMaxListeners(0)
  const isOpen = (host: string): boolean =>
    [acknowledged(), ...pending].every((hosts) => hosts.some((bound) => holdsHost(bound.host, host)))
  return {
    opens: async (host) => {
      const signal = AbortSignal.timeout(timeoutMs)
      while (!isOpen(host))
        try {
          await once(changes, 'settled', { signal })
        } catch {
          return false
        }
      return true
    },
    change: async (hosts, change) => {
      pending.add(hosts)
      try {
        await change()
      } finally {
        pending.delete(hosts)
        changes.emit('settled')
      }
    },
  }
}
