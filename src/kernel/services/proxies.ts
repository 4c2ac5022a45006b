import { whenReady } from '../../common/eventual.ts'
import type { Keys } from '../../keys/types.ts'
import type { ProxySource, StoredProxy } from '../../sdk/index.ts'
import type { RecordStore } from '../../store/records/types.ts'
import type { ProxyDirectory } from '../types.ts'
import { createCachedLookup } from './cached-lookup.ts'
import { createKeyHash } from './key-hash.ts'

const RETAINED = 10_000

interface ProxyDirectoryDeps {
  readonly keys: Pick<Keys, 'mac'>
  readonly records: Pick<RecordStore, 'changes'>
  /** Undefined when no plugin provides it: all keys are unknown then. */
  readonly source: () => ProxySource | undefined
}

const NONE: readonly StoredProxy[] = Object.freeze([])

const askIntercepting = async (port: ProxySource, key: string) => {
  const at = key.indexOf(' ')
  const proxies = await port.intercepting(key.slice(0, at), key.slice(at + 1))
  return proxies.length === 0 ? undefined : proxies
}

/** Stored proxies, cached as credentials are. */
export const createProxyDirectory = ({ keys, records, source }: ProxyDirectoryDeps): ProxyDirectory => {
  const lookup = createCachedLookup(source, (port, hash) => port.find(hash), {
    changes: ({ collections }) => records.changes(collections),
    max: RETAINED,
  })
  // By tenant and host. Hosts that no proxy intercepts are not cached: clients name them.
  const intercepting = createCachedLookup(source, askIntercepting, {
    changes: ({ collections }) => records.changes(collections),
    max: RETAINED,
  })
  const hashOf = createKeyHash(keys)
  return {
    find: (key) => {
      const hash = hashOf(key)
      return hash === undefined ? undefined : lookup.find(hash)
    },

    intercepting: (tenantId, host) =>
      whenReady(intercepting.find(`${tenantId} ${host}`), (proxies) => proxies ?? NONE),

    changes: async () => records.changes(source()?.collections ?? []),

    recentlyUsed: async (limit) => {
      const port = source()
      if (port === undefined) return []
      const used = lookup.retained().slice(0, limit)
      const [newest, recent] = await Promise.all([port.newest(limit), Promise.all(used.map(lookup.find))])
      const proxies = [...newest, ...recent].filter((proxy): proxy is StoredProxy => proxy !== undefined)
      return [...new Map(proxies.map((proxy) => [proxy.id, proxy])).values()]
    },
  }
}
