/** Answers Envoy's questions for its configuration, and knows from the next question whether it took the last answer. */
import { createHash } from 'node:crypto'
import type { Clock } from '../common/clock.ts'
import { type Snapshot, typed } from './snapshot.ts'
import { HOLD_MS, KIND_NAMES, KINDS, type Kind } from './xds.ts'

/** The members of a `DiscoveryRequest` that count here. */
export interface DiscoveryRequest {
  readonly version_info?: string
  readonly resource_names?: readonly string[]
}

/** 304: nothing new. */
export type DiscoveryResponse = { readonly status: 200; readonly body: string } | { readonly status: 304 }

export interface TypeStatus {
  readonly kind: Kind
  /** What is served. */
  readonly version: string
  /** Whether Envoy has taken it. */
  readonly acked: boolean
  /** Milliseconds since it was first served. */
  readonly ageMs: number
  /** Versions that Envoy refused. */
  readonly nacked: number
}

export interface Discovery {
  /**
   * What Envoy gets from now on. Resolves when it has taken all of it; rejects with NotTaken when it refuses something,
   * or after `limitMs`. What is served then stays, and is given again and again, until the caller serves something else.
   */
  serve(snapshot: Snapshot, limitMs: number): Promise<void>
  /** One question; waits for news when there are none. */
  response(kind: Kind, question: DiscoveryRequest, signal: AbortSignal): Promise<DiscoveryResponse>
  /** Another Envoy asks from now on. */
  restarted(): void
  status(): readonly TypeStatus[]
  /** Lets all that wait go. */
  close(): void
}

/** Envoy did not take what it was given. */
export class NackError extends Error {
  readonly nacked: readonly Kind[]

  constructor(nacked: readonly Kind[]) {
    super(
      nacked.length === 0
        ? 'Envoy did not take the configuration in time.'
        : `Envoy refused the new ${nacked.join(' and ')}. Its log line says why.`,
    )
    this.nacked = nacked
  }
}

/** An answer may be lost on its way; one that was given so often and not taken is refused. */
const SERVED = 3
/** What was refused is given once more after so many ms: an address may be free by then, a file be there again. */
const AGAIN_MS = 5_000

interface Served {
  readonly kind: Kind
  text: string
  version: string
  since: number
  state: 'offered' | 'taken' | 'refused'
  given: number
  nacks: number
}

/** Over REST a refusal has no message of its own: Envoy goes on asking with the version that it has. */
export const createDiscovery = ({ clock }: { readonly clock: Clock }): Discovery => {
  let snapshot: Snapshot | undefined
  let changes = 0
  let closed = false
  const served = new Map<Kind, Served>(
    KIND_NAMES.map((kind) => [
      kind,
      { kind, text: '', version: '', since: clock.now(), state: 'offered', given: 0, nacks: 0 },
    ]),
  )
  const waiting = new Set<() => void>()
  const watching = new Set<() => void>()
  const notify = (all: Set<() => void>) => {
    for (const one of [...all]) one()
  }

  /** Nobody asks for a kind that there is nothing of. */
  const asked = () => [...served.values()].filter(({ text }) => text !== '[]')
  const outcome = (): 'open' | 'taken' | readonly Kind[] => {
    const nacked = asked().filter(({ state }) => state === 'refused')
    if (nacked.length > 0) return nacked.map(({ kind }) => kind)
    return asked().every(({ state }) => state === 'taken') ? 'taken' : 'open'
  }

  const put = (one: Served, text: string) => {
    // After a refusal Envoy may hold a part of what it refused: the same again is news.
    if (one.text === text && one.state !== 'refused') return
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
    const version = `${++changes}-${hash}`
    Object.assign(one, { text, version, since: clock.now(), state: 'offered', given: 0 })
  }

  /** What the version that Envoy asks with says of the last answer. */
  const judge = (one: Served, has: string) => {
    if (one.state !== 'offered') return
    if (one.version !== '' && one.version === has) one.state = 'taken'
    else if (one.given >= SERVED) {
      one.state = 'refused'
      one.nacks++
    } else return
    notify(watching)
  }

  const settled = (limitMs: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const now = closed ? [] : outcome()
        if (now === 'open') return
        done()
        if (now === 'taken') resolve()
        else reject(new NackError(now))
      }
      const late = setTimeout(() => {
        done()
        reject(new NackError([]))
      }, limitMs)
      const done = () => {
        clearTimeout(late)
        watching.delete(look)
      }
      watching.add(look)
      look()
    })

  const give = (one: Served, names: readonly string[]): DiscoveryResponse => {
    one.given++
    const all = snapshot?.[one.kind] ?? []
    const resources = names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
    const body = {
      version_info: one.version,
      type_url: KINDS[one.kind].type,
      resources: typed(one.kind, resources),
    }
    return { status: 200, body: JSON.stringify(body) }
  }

  /** Resolves after the next news, `ms` or the end of the question. */
  const news = (signal: AbortSignal, ms: number): Promise<void> =>
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
      for (const one of served.values()) put(one, JSON.stringify(next[one.kind]))
      notify(waiting)
      await settled(limitMs)
    },
    async response(kind, { version_info: has = '', resource_names: names = [] }, signal) {
      const one = served.get(kind) as Served
      const isNews = () => one.version !== '' && one.version !== has && one.state !== 'refused'
      judge(one, has)
      const { state, version } = one
      if (!isNews()) await news(signal, state === 'refused' ? AGAIN_MS : HOLD_MS)
      // Whoever serves something else after a refusal has done so long ago.
      if (state === 'refused' && one.version === version && !signal.aborted)
        Object.assign(one, { state: 'offered', given: SERVED - 1 })
      return !signal.aborted && isNews() ? give(one, names) : { status: 304 }
    },
    restarted() {
      for (const one of served.values()) Object.assign(one, { given: 0, state: 'offered' })
    },
    status: () =>
      asked().map(({ kind, version, state, since, nacks }) => ({
        kind,
        version,
        acked: state === 'taken',
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
