/** State of xDS: responses to discovery requests, and ACK or NACK by the next request. */
import { createHash } from 'node:crypto'
import type { Clock } from '../common/clock.ts'
import { type Snapshot, typed } from './snapshot.ts'
import { HOLD_MS, RESOURCE_TYPE_NAMES, RESOURCE_TYPES, type ResourceType } from './xds.ts'

/** Used members of a `DiscoveryRequest`. */
export interface DiscoveryRequest {
  readonly version_info?: string
  readonly resource_names?: readonly string[]
}

/** Status 304: no new version. */
type DiscoveryResponse = { readonly status: 200; readonly body: string } | { readonly status: 304 }

export interface TypeStatus {
  readonly kind: ResourceType
  /** Offered version. */
  readonly version: string
  /** Whether Envoy has acknowledged it. */
  readonly acked: boolean
  /** Milliseconds since it was first served. */
  readonly ageMs: number
  /** Number of versions that Envoy rejected. */
  readonly nacked: number
}

export interface Discovery {
  /**
   * Offers a snapshot. Resolves when Envoy has acknowledged all of it; rejects with NackError when Envoy rejects a
   * part, or after `limitMs`. The snapshot is then offered again, until the caller serves another one.
   */
  serve(snapshot: Snapshot, limitMs: number): Promise<void>
  /** Response to one request; waits for a new version. */
  response(kind: ResourceType, request: DiscoveryRequest, signal: AbortSignal): Promise<DiscoveryResponse>
  /** Requests come from a new Envoy process from now on. */
  restarted(): void
  status(): readonly TypeStatus[]
  /** Ends all waiting calls. */
  close(): void
}

/** Envoy did not acknowledge the configuration. `nacked`: rejected types; empty: a timeout. */
export class NackError extends Error {
  readonly nacked: readonly ResourceType[]

  constructor(nacked: readonly ResourceType[]) {
    super(
      nacked.length === 0
        ? 'Envoy did not acknowledge the configuration.'
        : `Envoy rejected the new ${nacked.join(' and ')}. The reason is in Envoy's log.`,
    )
    this.nacked = nacked
  }
}

/** A response may be lost, so only a version that is not acknowledged after this many responses is a NACK. */
const SERVED = 3
/** ms until a rejected version is offered again: its cause (an address in use, a missing file) may be gone. */
const AGAIN_MS = 5_000

interface Served {
  readonly kind: ResourceType
  text: string
  version: string
  since: number
  state: 'offered' | 'acked' | 'nacked'
  responses: number
  nacks: number
}

/** Over REST a NACK has no message: Envoy continues to request with its previous version. */
export const createDiscovery = ({ clock }: { readonly clock: Clock }): Discovery => {
  let snapshot: Snapshot | undefined
  let changes = 0
  let closed = false
  const served = new Map<ResourceType, Served>(
    RESOURCE_TYPE_NAMES.map((kind) => [
      kind,
      { kind, text: '', version: '', since: clock.now(), state: 'offered', responses: 0, nacks: 0 },
    ]),
  )
  const waiting = new Set<() => void>()
  const watching = new Set<() => void>()
  const notify = (all: Set<() => void>) => {
    for (const call of [...all]) call()
  }

  /** Envoy requests no type without resources. */
  const requested = () => [...served.values()].filter(({ text }) => text !== '[]')
  const outcome = (): 'open' | 'acked' | readonly ResourceType[] => {
    const nacked = requested().filter(({ state }) => state === 'nacked')
    if (nacked.length > 0) return nacked.map(({ kind }) => kind)
    return requested().every(({ state }) => state === 'acked') ? 'acked' : 'open'
  }

  const put = (entry: Served, text: string) => {
    // After a NACK Envoy may have applied a part, so the same content needs a new version.
    if (entry.text === text && entry.state !== 'nacked') return
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
    const version = `${++changes}-${hash}`
    Object.assign(entry, { text, version, since: clock.now(), state: 'offered', responses: 0 })
  }

  /** Derives ACK or NACK from the version in Envoy's request. */
  const judge = (entry: Served, has: string) => {
    if (entry.state !== 'offered') return
    if (entry.version !== '' && entry.version === has) entry.state = 'acked'
    else if (entry.responses >= SERVED) {
      entry.state = 'nacked'
      entry.nacks++
    } else return
    notify(watching)
  }

  const settled = (limitMs: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const check = () => {
        const now = closed ? [] : outcome()
        if (now === 'open') return
        done()
        if (now === 'acked') resolve()
        else reject(new NackError(now))
      }
      const timer = setTimeout(() => {
        done()
        reject(new NackError([]))
      }, limitMs)
      const done = () => {
        clearTimeout(timer)
        watching.delete(check)
      }
      watching.add(check)
      check()
    })

  const responseOf = (entry: Served, names: readonly string[]): DiscoveryResponse => {
    entry.responses++
    const all = snapshot?.[entry.kind] ?? []
    const resources = names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
    const body = {
      version_info: entry.version,
      type_url: RESOURCE_TYPES[entry.kind].type,
      resources: typed(entry.kind, resources),
    }
    return { status: 200, body: JSON.stringify(body) }
  }

  /** Resolves at the next version, after `ms`, or when the request ends. */
  const nextVersion = (signal: AbortSignal, ms: number): Promise<void> =>
    new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', go)
        waiting.delete(go)
        resolve()
      }
      const timer = setTimeout(go, ms).unref()
      signal.addEventListener('abort', go, { once: true })
      waiting.add(go)
    })

  return {
    async serve(next, limitMs) {
      snapshot = next
      for (const entry of served.values()) put(entry, JSON.stringify(next[entry.kind]))
      notify(waiting)
      await settled(limitMs)
    },
    async response(kind, { version_info: has = '', resource_names: names = [] }, signal) {
      const entry = served.get(kind) as Served
      const isNew = () => entry.version !== '' && entry.version !== has && entry.state !== 'nacked'
      judge(entry, has)
      const { state, version } = entry
      if (!isNew()) await nextVersion(signal, state === 'nacked' ? AGAIN_MS : HOLD_MS)
      // A caller that serves another snapshot after a NACK has done so by now.
      if (state === 'nacked' && entry.version === version && !signal.aborted)
        Object.assign(entry, { state: 'offered', responses: SERVED - 1 })
      return !signal.aborted && isNew() ? responseOf(entry, names) : { status: 304 }
    },
    restarted() {
      for (const entry of served.values()) Object.assign(entry, { responses: 0, state: 'offered' })
    },
    status: () =>
      requested().map(({ kind, version, state, since, nacks }) => ({
        kind,
        version,
        acked: state === 'acked',
        nacked: nacks,
        ageMs: clock.now() - since,
      })),
    close: () => {
      closed = true
      notify(waiting)
      notify(watching)
    },
  }
}
