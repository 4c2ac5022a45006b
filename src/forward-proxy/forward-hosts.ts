/** Hosts that Envoy opens: those that some tenant binds, each with its certificate. */
import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import type { RecordStore } from '../store/records/types.ts'
import type { Authority } from './authority.ts'
import { createBoundHosts, type MAX_HOSTS } from './bound-hosts.ts'
import type { Leaf } from './certificates.ts'
import { createLeaves } from './leaves.ts'

/** ms between two checks of the change counters: a change is in force within a second. */
const POLL_MS = 250
/** Factor of the interval after a rejection: each attempt may have been a change of Envoy's configuration. */
const BACKOFF = 8

interface ForwardHostsDeps {
  readonly records: Pick<RecordStore, 'hosts' | 'changes'>
  readonly authority: Pick<Authority, 'leaf' | 'generation'>
  readonly clock: Clock
  readonly log: Log
}

interface ForwardHostsOptions {
  /** Collections whose records bind hosts. */
  readonly collections: readonly string[]
  /** Called with all hosts at first, and after each change of hosts or certificates. A rejection is retried. */
  readonly onHosts: (hosts: readonly Leaf[]) => Promise<void>
  readonly intervalMs?: number
  readonly limits?: typeof MAX_HOSTS
}

export interface ForwardHosts {
  close(): Promise<void>
}

/** Watches hosts and certificates until it is closed. */
export const watchForwardHosts = (
  { records, authority, clock, log }: ForwardHostsDeps,
  { collections, onHosts, intervalMs = POLL_MS, limits }: ForwardHostsOptions,
): ForwardHosts => {
  const bound = createBoundHosts({ records, log }, { collections, ...(limits ? { limits } : {}) })
  const leaves = createLeaves({ authority, clock })
  let reported: readonly Leaf[] | undefined
  let failing = false
  let closed = false
  let timer: NodeJS.Timeout | undefined

  const update = async (): Promise<void> => {
    const next = await leaves.forHosts(await bound.read())
    if (next === reported) return
    await onHosts(next)
    reported = next
  }
  const tick = async (): Promise<void> => {
    try {
      await update()
      if (failing) log.info('intercepted hosts of the forward proxy recovered')
      failing = false
    } catch (err) {
      if (!failing) log.warn({ err }, 'intercepted hosts of the forward proxy degraded; retrying')
      failing = true
    }
    if (!closed)
      timer = setTimeout(
        () => {
          running = tick()
        },
        intervalMs * (failing ? BACKOFF : 1),
      ).unref()
  }
  let running = tick()
  return {
    close: async () => {
      closed = true
      clearTimeout(timer)
      await running
    },
  }
}
