/** xDS server for this machine's Envoy: the current configuration, and the socket that serves it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../common/clock.ts'
import { codeOf } from '../common/errors.ts'
import { isObject } from '../common/json.ts'
import { createKeyedMutex } from '../common/keyed-mutex.ts'
import type { Log } from '../common/log.ts'
import { readJson, serveSocket } from '../common/serve-socket.ts'
import { IDENTITY_PREFIX } from '../ext-proc/contract.ts'
import { createClientCertificates, parseClientCertificate } from './client-certificates.ts'
import { clientCertificateCluster, drainingClusters } from './destinations.ts'
import { createDiscovery, type DiscoveryRequest, NackError, type TypeStatus } from './discovery.ts'
import { parseForwardHosts, withForwardHosts } from './forward-hosts.ts'
import { ADDRESSES_MS, type BootstrapOptions, hasNewAddress, settle } from './options.ts'
import { isSame, overlapping, type Resource, type Snapshot, snapshotOf } from './snapshot.ts'
import { RESOURCE_TYPE_NAMES, RESOURCE_TYPES, type ResourceType } from './xds.ts'

/** Timeout of an acknowledgement; a killed Envoy restarts within it. */
const ACK_TIMEOUT_MS = 10_000

/** A discovery request contains the description of Envoy's build, a report of 4,000 hosts 2 KB for each. */
const MAX_BODY = 16 * 1024 * 1024

const KIND_BY_PATH: ReadonlyMap<string | undefined, ResourceType> = new Map(
  RESOURCE_TYPE_NAMES.map((kind) => [RESOURCE_TYPES[kind].path, kind]),
)

/** `PUT /identities/<name>`: a gateway's request for the cluster of an identity; the response contains its name. */
const IDENTITY = new RegExp(`^PUT /identities/(${IDENTITY_PREFIX}[a-z0-9_-]{1,100})$`)

/** A gateway's report of all hosts that the forward proxy opens. */
const FORWARD_HOSTS = 'PUT /forward-hosts'

export interface XdsServer {
  /**
   * Applies the result of `next` as Envoy's configuration; changes run one after the other. Resolves when Envoy has
   * acknowledged it. Rejects with the error of `next`, or with NackError after restoring the previous configuration.
   */
  change(next: (current: BootstrapOptions) => BootstrapOptions): Promise<void>
  /** A new Envoy process starts. */
  restarted(): void
  /** Whether the configuration refers to this file; draining clusters may refer to earlier files. */
  namesFile(path: string): boolean
  status(): readonly TypeStatus[]
  close(): Promise<void>
}

interface XdsServerDeps {
  readonly log: Log
  readonly clock: Clock
  /** Handles `POST /reload`; its result is the response. */
  readonly reload?: () => Promise<object>
}

/** Serves `options` on a unix socket. Resolves when it listens. Throws an Error for an invalid option. */
export const startXdsServer = async (
  { log, clock, reload }: XdsServerDeps,
  {
    socketPath,
    options,
    edge = true,
    addressesMs = ADDRESSES_MS,
  }: {
    readonly socketPath: string
    readonly options: BootstrapOptions
    /** False: there is no Envoy, and every change counts as acknowledged. */
    readonly edge?: boolean
    readonly addressesMs?: number
  },
): Promise<XdsServer> => {
  const discovery = createDiscovery({ clock })
  let current = options
  /** The settings of `snapshot`. Settling the same options again yields other addresses when the machine's changed. */
  let settings = settle(options)
  let snapshot = snapshotOf(settings)
  // Envoy is not running yet; the supervisor checks its start.
  if (edge) discovery.serve(snapshot, ACK_TIMEOUT_MS).catch(() => {})

  /** Clusters that requests in flight from before a change may still use, by name. */
  const draining = new Map<string, Resource>()
  const withDraining = (next: Snapshot): Snapshot =>
    overlapping({ ...next, clusters: [...draining.values()] }, next)

  const drain = (clusters: readonly Resource[], limitMs: number): void => {
    for (const cluster of clusters) draining.set(cluster.name, cluster)
    setTimeout(() => {
      // A cluster that was used and drained again is another object with its own timer.
      const over = clusters.filter((cluster) => draining.get(cluster.name) === cluster)
      if (over.length === 0) return
      for (const { name } of over) draining.delete(name)
      runExclusive(() => discovery.serve(withDraining(snapshot), ACK_TIMEOUT_MS)).catch(() => {})
    }, limitMs).unref()
  }

  /** Offers old and new clusters, then references to the new ones, then removes the old ones that are not draining. */
  const move = async (before: Snapshot, next: Snapshot, limitMs: number): Promise<void> => {
    const both = overlapping(before, next)
    await discovery.serve(withDraining({ ...before, clusters: both.clusters }), ACK_TIMEOUT_MS)
    await discovery.serve(withDraining(both), ACK_TIMEOUT_MS)
    drain(drainingClusters(before.clusters, next.clusters), limitMs)
    await discovery.serve(withDraining(next), ACK_TIMEOUT_MS)
  }

  const run = async (next: (current: BootstrapOptions) => BootstrapOptions): Promise<void> => {
    const options = next(current)
    if (options === current) return
    const settled = settle(options)
    const nextSnapshot = snapshotOf(settled)
    if (edge && !isSame(snapshot, nextSnapshot))
      try {
        await move(snapshot, nextSnapshot, settings.uploadTimeoutMs)
      } catch (error) {
        log.error({ nacked: error instanceof NackError ? error.nacked : [] }, String(error))
        discovery.serve(withDraining(snapshot), ACK_TIMEOUT_MS).catch(() => {})
        throw error
      }
    current = options
    settings = settled
    snapshot = nextSnapshot
  }

  const mutex = createKeyedMutex()
  const runExclusive = <T>(work: () => Promise<T>): Promise<T> => mutex('', work)

  /** Commands of the operator, of gateways, and status. */
  const command = async (
    request: IncomingMessage,
  ): Promise<{ readonly status: number; readonly body: object }> => {
    const route = `${request.method} ${request.url}`
    if (route === 'GET /status') return { status: 200, body: discovery.status() }
    const identity = IDENTITY.exec(route)?.[1]
    try {
      if (route === 'POST /reload' && reload !== undefined) return { status: 200, body: await reload() }
      if (route === 'GET /forward-proxy' && current.forward !== undefined)
        return { status: 200, body: current.forward.listen }
      if (route === FORWARD_HOSTS) {
        const hosts = parseForwardHosts(await readJson(request, MAX_BODY))
        await change((current) => withForwardHosts(current, hosts))
        return { status: 200, body: {} }
      }
      if (identity === undefined) return { status: 404, body: {} }
      await identities.use(parseClientCertificate(identity, await readJson(request, MAX_BODY)))
      return { status: 200, body: { cluster: clientCertificateCluster(settings, identity) } }
    } catch (error) {
      const rejected = error instanceof NackError && error.nacked.length > 0
      // A full disk is no mistake in the settings.
      const failed = /^E[A-Z]+$/.test(codeOf(error))
      return {
        status: rejected ? 422 : failed ? 500 : 409,
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
    const body = await readJson(request, MAX_BODY)
    if (!isObject(body)) throw new Error('the request is not an object')
    const reply = await discovery.response(kind, body as DiscoveryRequest, gone.signal)
    response.writeHead(reply.status, { 'content-type': 'application/json' })
    response.end(reply.status === 200 ? reply.body : '')
  }

  const change: XdsServer['change'] = (next) => runExclusive(() => run(next))
  const identities = createClientCertificates({ change }, { clock })
  const watchingAddresses = setInterval(() => {
    if (settings.egress.ownAddresses !== undefined || !hasNewAddress(settings.ownAddresses)) return
    change((current) => ({ ...current })).catch(() => {}) // logged there, and retried
  }, addressesMs).unref()
  const server = await serveSocket(socketPath, (request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  return {
    change,
    restarted: () => {
      discovery.restarted()
      if (draining.size === 0) return
      // A new process has no requests in flight. A running change adds its draining clusters later.
      draining.clear()
      runExclusive(() => discovery.serve(withDraining(snapshot), ACK_TIMEOUT_MS)).catch(() => {})
    },
    namesFile: (path) => JSON.stringify(withDraining(snapshot)).includes(JSON.stringify(path)),
    status: () => discovery.status(),
    close: async () => {
      clearInterval(watchingAddresses)
      identities.close()
      discovery.close()
      await server.close()
    },
  }
}
