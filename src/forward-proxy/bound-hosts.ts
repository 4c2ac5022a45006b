/** The hosts that some tenant binds: Envoy has a filter chain for each. */
import type { Eventual } from '../common/eventual.ts'
import type { Log } from '../common/log.ts'
import type { RecordStore } from '../store/types.ts'

/** ms between two looks at the change counters. */
const POLL_MS = 250
/** ms after which the hosts are read again although no counter has moved. */
const MAX_AGE_MS = 60_000

/** Hosts with a chain, which cost Envoy 30 KiB each. A tenant's newest ones wait when it has more. */
export const MOST_HOSTS = { all: 4_000, ofTenant: 1_000 }
/** Rows read at once: the hosts of tenants above their limit must not hide those of others. */
const MOST_ROWS = 100_000

export interface BoundHostsDeps {
  readonly records: Pick<RecordStore, 'hosts'> & { changes(kinds: readonly string[]): Eventual<number> }
  readonly log: Log
}

export interface BoundHostsOptions {
  /** Collections whose records bind hosts. */
  readonly collections: readonly string[]
  /** Called with all hosts, sorted: at first, and after each change. A rejection is retried. */
  readonly onHosts: (hosts: readonly string[]) => Promise<void>
  readonly intervalMs?: number
  readonly most?: typeof MOST_HOSTS
}

export interface BoundHosts {
  close(): Promise<void>
}

const within = (
  rows: Awaited<ReturnType<RecordStore['hosts']>>,
  most: typeof MOST_HOSTS,
): { readonly hosts: readonly string[]; readonly left: number } => {
  const hosts = new Set<string>()
  const counts = new Map<string, number>()
  let left = 0
  for (const { tenantId, host } of rows) {
    const count = (counts.get(tenantId) ?? 0) + 1
    counts.set(tenantId, count)
    if (hosts.has(host)) continue
    if (count > most.ofTenant || hosts.size >= most.all) left++
    else hosts.add(host)
  }
  return { hosts: [...hosts].sort(), left }
}

/** Watches the change counters. A change is reported within a second; clients' names never come here. */
export const watchBoundHosts = (
  { records, log }: BoundHostsDeps,
  { collections, onHosts, intervalMs = POLL_MS, most = MOST_HOSTS }: BoundHostsOptions,
): BoundHosts => {
  let readAt = Number.NEGATIVE_INFINITY
  let counted: number | undefined
  let known: string | undefined
  let failing = false
  let closed = false
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout

  const look = async (): Promise<void> => {
    const changes = await records.changes(collections)
    if (changes === counted && performance.now() - readAt < MAX_AGE_MS) return
    const { hosts, left } = within(await records.hosts(MOST_ROWS), most)
    const text = hosts.join(' ')
    if (text !== known) {
      if (left > 0)
        log.warn({ hosts: hosts.length, left }, 'too many bound hosts: the newest are not intercepted')
      await onHosts(hosts)
    }
    known = text
    counted = changes
    readAt = performance.now()
  }
  const tick = () => {
    running = look()
      .then(() => {
        if (failing) log.info('bound hosts of the forward proxy recovered')
        failing = false
      })
      .catch((err: unknown) => {
        if (!failing) log.warn({ err }, 'bound hosts of the forward proxy degraded; retry follows')
        failing = true
      })
      .then(() => {
        if (!closed) timer = setTimeout(tick, intervalMs).unref()
      })
  }
  tick()
  return {
    close: async () => {
      closed = true
      clearTimeout(timer)
      await running
    },
  }
}
