/** xDS server for this machine's Envoy, on a unix socket, with commands for the operator and for gateways. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../common/clock.ts'
import { codeOf } from '../common/errors.ts'
import { isObject } from '../common/json.ts'
import type { Log } from '../common/log.ts'
import { readJson, serveSocket } from '../common/serve-socket.ts'
import { IDENTITY_PREFIX } from '../ext-proc/contract.ts'
import { createClientCertificates, parseClientCertificate } from './client-certificates.ts'
import { clientCertificateCluster } from './destinations.ts'
import { createDiscovery, type DiscoveryRequest, NackError, type TypeStatus } from './discovery.ts'
import {
  type ConfigurationOptions,
  createEnvoyConfiguration,
  type EnvoyConfiguration,
} from './envoy-configuration.ts'
import { parseForwardHosts, withForwardHosts } from './forward-hosts.ts'
import { createOpenedHosts } from './opened-hosts.ts'
import { RESOURCE_TYPE_NAMES, RESOURCE_TYPES, type ResourceType } from './xds.ts'

/** A discovery request contains the description of Envoy's build, a report of 4,000 hosts 2 KB for each. */
const MAX_BODY = 16 * 1024 * 1024

const KIND_BY_PATH: ReadonlyMap<string | undefined, ResourceType> = new Map(
  RESOURCE_TYPE_NAMES.map((kind) => [RESOURCE_TYPES[kind].path, kind]),
)

/** `PUT /identities/<name>`: a gateway's request for the cluster of an identity; the response contains its name. */
const IDENTITY = new RegExp(`^PUT /identities/(${IDENTITY_PREFIX}[a-z0-9_-]{1,100})$`)

/** A gateway's report of all hosts that the forward proxy opens. */
const FORWARD_HOSTS = 'PUT /forward-hosts'

/** `GET /forward-hosts/<host>`: 200 as soon as Envoy opens the host, 404 if it does not in time. */
const FORWARD_HOST = /^GET \/forward-hosts\/([^/?]{1,253})$/

export interface XdsServer extends Pick<EnvoyConfiguration, 'change' | 'restarted' | 'namesFile'> {
  status(): readonly TypeStatus[]
  close(): Promise<void>
}

interface XdsServerDeps {
  readonly log: Log
  readonly clock: Clock
  /** Handles `POST /reload`; its result is the response. */
  readonly reload?: () => Promise<object>
  /** The response to `GET /service`. */
  readonly service?: () => object
}

/** Serves `options` on a unix socket. Resolves when it listens. Throws an Error for an invalid option. */
export const startXdsServer = async (
  { log, clock, reload, service }: XdsServerDeps,
  { socketPath, ...options }: ConfigurationOptions & { readonly socketPath: string },
): Promise<XdsServer> => {
  const discovery = createDiscovery({ clock })
  const configuration = createEnvoyConfiguration({ log, discovery }, options)
  const { change } = configuration
  const identities = createClientCertificates({ change }, { clock })

  const opened = createOpenedHosts(() => configuration.options.forward?.hosts ?? [])

  /** Commands of the operator, of gateways, and status. */
  const command = async (
    request: IncomingMessage,
  ): Promise<{ readonly status: number; readonly body: object }> => {
    const route = `${request.method} ${request.url}`
    if (route === 'GET /status') return { status: 200, body: discovery.status() }
    if (route === 'GET /service' && service !== undefined) return { status: 200, body: service() }
    const host = FORWARD_HOST.exec(route)?.[1]
    if (host !== undefined) return { status: (await opened.opens(host)) ? 200 : 404, body: {} }
    const identity = IDENTITY.exec(route)?.[1]
    try {
      if (route === 'POST /reload' && reload !== undefined) return { status: 200, body: await reload() }
      if (route === 'GET /forward-proxy' && configuration.options.forward !== undefined)
        return { status: 200, body: configuration.options.forward.listen }
      if (route === FORWARD_HOSTS) {
        const hosts = parseForwardHosts(await readJson(request, MAX_BODY))
        await opened.change(hosts, () => change((current) => withForwardHosts(current, hosts)))
        return { status: 200, body: {} }
      }
      if (identity === undefined) return { status: 404, body: {} }
      await identities.use(parseClientCertificate(identity, await readJson(request, MAX_BODY)))
      return { status: 200, body: { cluster: clientCertificateCluster(configuration.settings, identity) } }
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

  const server = await serveSocket(socketPath, (request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  return {
    change,
    restarted: configuration.restarted,
    namesFile: configuration.namesFile,
    status: () => discovery.status(),
    close: async () => {
      configuration.close()
      identities.close()
      discovery.close()
      await server.close()
    },
  }
}
