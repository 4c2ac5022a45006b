/** The control plane of this machine's Envoy: what it has been given, and the socket by which it asks for it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../common/clock.ts'
import { isObject } from '../common/json.ts'
import type { Log } from '../common/log.ts'
import { serveSocket } from '../common/serve-socket.ts'
import { IDENTITY_PREFIX } from '../ext-proc/contract.ts'
import { createIdentities, parseIdentity } from './client-certificates.ts'
import { drainingClusters, identityCluster } from './destinations.ts'
import { createDiscovery, type DiscoveryRequest, NackError, type TypeStatus } from './discovery.ts'
import { type BootstrapOptions, settle } from './options.ts'
import { createSnapshot, isSame, overlapping, type Resource, type Snapshot } from './snapshot.ts'
import { KIND_NAMES, KINDS, type Kind } from './xds.ts'

/** An Envoy that was killed is back by then. */
const TAKE_MS = 10_000

/** Envoy says with each question what it is made of, which is long. */
const MAX_BODY = 4 * 1024 * 1024

const KIND_BY_PATH: ReadonlyMap<string | undefined, Kind> = new Map(
  KIND_NAMES.map((kind) => [KINDS[kind].path, kind]),
)

/** `PUT /identities/<name>`: a gateway's request for the cluster of that identity; the answer names it. */
const IDENTITY = new RegExp(`^PUT /identities/(${IDENTITY_PREFIX}[a-z0-9_-]{1,100})$`)

export interface Control {
  /**
   * Makes what `next` says Envoy's configuration; one change after the other. Resolves when Envoy has it. Rejects with
   * what `next` throws, or with NotTaken: then Envoy is given what it had before.
   */
  change(next: (current: BootstrapOptions) => BootstrapOptions): Promise<void>
  /** A new Envoy begins to ask. */
  restarted(): void
  /** Whether an Envoy may be told of this file from now on: clusters that were left behind name files of before. */
  namesFile(path: string): boolean
  status(): readonly TypeStatus[]
  close(): Promise<void>
}

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY) throw new Error('the question is too long')
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}

export interface ControlDeps {
  readonly log: Log
  readonly clock: Clock
  /** For `POST /reload`: what it resolves with is the answer. */
  readonly reload?: () => Promise<object>
}

/** Serves `options` on a unix socket. Resolves when it listens. Throws an Error naming an option that cannot be. */
export const startControl = async (
  { log, clock, reload }: ControlDeps,
  { socketPath, options }: { readonly socketPath: string; readonly options: BootstrapOptions },
): Promise<Control> => {
  const discovery = createDiscovery({ clock })
  let current = options
  let snapshot = createSnapshot(options)
  // Nobody asks before Envoy runs, and whether it comes up is seen there.
  discovery.serve(snapshot, TAKE_MS).catch(() => {})

  /** Clusters by name that requests may still go to that were begun before a change. */
  const left = new Map<string, Resource>()
  const withLeft = (one: Snapshot): Snapshot => overlapping({ ...one, clusters: [...left.values()] }, one)

  const leave = (clusters: readonly Resource[], limitMs: number): void => {
    for (const cluster of clusters) left.set(cluster.name, cluster)
    setTimeout(() => {
      // One that was in use again, and left again, has another object, and a time of its own.
      const over = clusters.filter((cluster) => left.get(cluster.name) === cluster)
      if (over.length === 0) return
      for (const { name } of over) left.delete(name)
      runExclusive(() => discovery.serve(withLeft(snapshot), TAKE_MS)).catch(() => {})
    }, limitMs).unref()
  }

  /** Old and new clusters first, then what refers to the new ones, then without the old ones that nobody waits for. */
  const move = async (before: Snapshot, next: Snapshot, limitMs: number): Promise<void> => {
    const both = overlapping(before, next)
    await discovery.serve(withLeft({ ...before, clusters: both.clusters }), TAKE_MS)
    await discovery.serve(withLeft(both), TAKE_MS)
    leave(drainingClusters(before.clusters, next.clusters), limitMs)
    await discovery.serve(withLeft(next), TAKE_MS)
  }

  const run = async (next: (current: BootstrapOptions) => BootstrapOptions): Promise<void> => {
    const wanted = next(current)
    if (wanted === current) return
    const made = createSnapshot(wanted)
    if (!isSame(snapshot, made))
      try {
        await move(snapshot, made, settle(current).uploadTimeoutMs)
      } catch (error) {
        log.error({ nacked: error instanceof NackError ? error.nacked : [] }, String(error))
        discovery.serve(withLeft(snapshot), TAKE_MS).catch(() => {})
        throw error
      }
    current = wanted
    snapshot = made
  }

  let last: Promise<unknown> = Promise.resolve()
  const runExclusive = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work, work)
    last = mine
    return mine
  }

  /** For the operator, and for those who ask how things are. */
  const command = async (
    request: IncomingMessage,
  ): Promise<{ readonly status: number; readonly body: object }> => {
    const route = `${request.method} ${request.url}`
    if (route === 'GET /status') return { status: 200, body: discovery.status() }
    const identity = IDENTITY.exec(route)?.[1]
    try {
      if (route === 'POST /reload' && reload !== undefined) return { status: 200, body: await reload() }
      if (identity === undefined) return { status: 404, body: {} }
      await identities.use(parseIdentity(identity, await bodyOf(request)))
      return { status: 200, body: { cluster: identityCluster(settle(current), identity) } }
    } catch (error) {
      const rejected = error instanceof NackError && error.nacked.length > 0
      return {
        status: rejected ? 422 : 409,
        body: { detail: error instanceof Error ? error.message : String(error) },
      }
    }
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const kind = request.method === 'POST' ? KIND_BY_PATH.get(request.url) : undefined
    if (kind === undefined) {
      const reply = await command(request)
      response.writeHead(reply.status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(reply.body))
      return
    }
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const question = await bodyOf(request)
    if (!isObject(question)) throw new Error('the question is no object')
    const reply = await discovery.response(kind, question as DiscoveryRequest, gone.signal)
    response.writeHead(reply.status, { 'content-type': 'application/json' })
    response.end(reply.status === 200 ? reply.body : '')
  }

  const change: Control['change'] = (next) => runExclusive(() => run(next))
  const identities = createIdentities({ change }, { clock })
  const server = await serveSocket(socketPath, (request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  return {
    change,
    restarted: () => {
      discovery.restarted()
      if (left.size === 0) return
      // It has no request of before; what a change that is being made leaves behind comes later.
      left.clear()
      runExclusive(() => discovery.serve(withLeft(snapshot), TAKE_MS)).catch(() => {})
    },
    namesFile: (path) => JSON.stringify(withLeft(snapshot)).includes(JSON.stringify(path)),
    status: () => discovery.status(),
    close: async () => {
      identities.close()
      discovery.close()
      await server.close()
    },
  }
}
