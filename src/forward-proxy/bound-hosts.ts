/** The hosts that some tenant binds. Names that clients send never come here. */
import type { Log } from '../common/log.ts'
import type { RecordStore } from '../store/records/types.ts'

/** ms after which the hosts are read again although no counter has moved. */
const MAX_AGE_MS = 60_000

/** Hosts with a chain, which cost Envoy 30 KiB each. A tenant's newest ones wait when it has more. */
export const MAX_HOSTS = { all: 4_000, ofTenant: 1_000 }
/** Rows read at once: the hosts of tenants above their limit must not hide those of others. */
const MAX_ROWS = 100_000

interface BoundHosts {
  /** Sorted. The same array until a change counter moves; a change by any process is in it within a second. */
  read(): Promise<readonly string[]>
}

interface BoundHostsDeps {
  readonly records: Pick<RecordStore, 'hosts' | 'changes'>
  readonly log: Log
}

const within = (
  rows: Awaited<ReturnType<RecordStore['hosts']>>,
  limits: typeof MAX_HOSTS,
): { readonly hosts: readonly string[]; readonly left: number } => {
  const hosts = new Set<string>()
  const counts = new Map<string, number>()
  let left = 0
  for (const { tenantId, host } of rows) {
    const count = (counts.get(tenantId) ?? 0) + 1
    counts.set(tenantId, count)
    if (hosts.has(host)) continue
    if (count > limits.ofTenant || hosts.size >= limits.all) left++
    else hosts.add(host)
  }
  return { hosts: [...hosts].sort(), left }
}

/** `collections`: those whose records bind hosts. */
export const createBoundHosts = (
  { records, log }: BoundHostsDeps,
  {
    collections,
    limits = MAX_HOSTS,
  }: { readonly collections: readonly string[]; readonly limits?: typeof MAX_HOSTS },
): BoundHosts => {
  let known: { readonly changes: number; readonly at: number; readonly hosts: readonly string[] } | undefined
  let missing = 0
  return {
    read: async () => {
      // Read first: a change during the read of the hosts differs next time.
      const changes = await records.changes(collections)
      const at = performance.now()
      if (known?.changes === changes && at - known.at < MAX_AGE_MS) return known.hosts
      const { hosts, left } = within(await records.hosts(MAX_ROWS), limits)
      if (left !== missing && left > 0)
        log.warn({ hosts: hosts.length, left }, 'too many bound hosts: the newest are not intercepted')
      missing = left
      known = { changes, at, hosts }
      return hosts
    },
  }
}
