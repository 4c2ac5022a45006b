import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditRecord } from '../../src/audit/types.ts'
import { steadyClock } from '../../src/common/clock.ts'
import { AppError } from '../../src/common/errors.ts'
import type { Json } from '../../src/common/json.ts'
import type { Log } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { createShares } from '../../src/common/shares.ts'
import type { BootstrapOptions } from '../../src/control-plane/options.ts'
import { createAddresses, dialed } from '../../src/egress/addresses.ts'
import { createResolve } from '../../src/egress/resolve.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { createAdmission } from '../../src/gateway/admission.ts'
import { BODY_LIMITS } from '../../src/gateway/body/rewrite.ts'
import { createExchanges, type StartExchange } from '../../src/gateway/exchange.ts'
import type { ExchangeDeps, ExchangeOptions } from '../../src/gateway/exchange-deps.ts'
import { headerRules } from '../../src/gateway/headers.ts'
import { OpenCalls } from '../../src/gateway/open-calls.ts'
import { createRecentHosts } from '../../src/gateway/recent-hosts.ts'
import { startGateway } from '../../src/gateway/server.ts'
import { STREAM_LIMITS } from '../../src/gateway/streaming/pipe-body.ts'
import type { Caller, Code, CodeRun, StoredProxy, UseContext, UsedToken } from '../../src/sdk/index.ts'
import { type Authority, createAuthority } from './authority.ts'
import { type Destination, startDestination } from './destination.ts'
import { type DnsServer, startDns } from './dns.ts'
import { type RunningEnvoy, startEnvoy } from './envoy.ts'

type GatewayDeps = Parameters<typeof startGateway>[0]
type GatewayOptions = Parameters<typeof startGateway>[1]

/** Keys that the far side knows, by what they may do. */
export const KEYS = {
  private: 'key_private',
  rules: 'key_rules',
  idle: 'key_idle',
  stranger: 'key_stranger',
  public: 'key_public',
  management: 'key_management',
} as const

const grants = (permissions: string[]) => ({ permissions, rules: [] })
const caller = (
  actorId: string,
  applicationType: Caller['applicationType'],
  given: Caller['grants'],
): Caller => ({
  tenantId: 'tenant',
  actorId,
  actorType: 'application',
  applicationId: actorId,
  ...(applicationType === undefined ? {} : { applicationType }),
  grants: given,
})

const CALLERS = new Map<string, Caller>([
  [KEYS.private, caller('private', 'private', grants(['token:use']))],
  [
    KEYS.rules,
    caller('rules', 'private', {
      permissions: [],
      rules: [
        {
          description: 'use',
          priority: 1,
          container: '/pci/',
          transform: 'reveal',
          permissions: ['token:use'],
        },
      ],
    }),
  ],
  [KEYS.stranger, { ...caller('stranger', 'private', grants(['token:use'])), tenantId: 'other' }],
  [KEYS.idle, caller('idle', 'private', grants(['token:read']))],
  [KEYS.public, caller('public', 'public', grants(['token:use']))],
  [KEYS.management, caller('management', 'management', grants(['token:use']))],
])

/** A vault's far side: tokens by id; `slow` never resolves, `down` rejects. */
export const TOKENS: Readonly<Record<string, UsedToken>> = Object.fromEntries(
  Object.entries({
    card: { number: '4242424242424242', cvc: '123' },
    name: 'Ada "the first" Lovelace',
    expression: '{{ card }}',
    long: 'x'.repeat(100_000),
  }).map(([id, data]) => [
    id,
    {
      id,
      type: 'token',
      data,
      container: '/general/high/',
      toToken: () => ({ id, type: 'token', data, containers: ['/general/high/'] }),
    },
  ]),
)

export const silentLog = (): Log => {
  const log = {} as Record<string, unknown>
  for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal']) log[level] = () => {}
  log.child = () => log
  return log as unknown as Log
}

interface FarSide {
  readonly deps: GatewayDeps
  /** Stored proxies by their keys; tests put their own. */
  readonly proxies: Map<string, StoredProxy>
  /** Each run of a transform. */
  readonly runs: CodeRun[]
  /** Each audit record of the gateway's own. */
  readonly records: AuditRecord[]
  /** Each `vault.use` that happened. */
  readonly uses: { readonly ids: readonly string[]; readonly context: UseContext }[]
}

/** Runs code without the isolation of the sandbox. Errors are those of the code service. */
const runHere = async ({
  name,
  code,
  argument,
  signal,
  exposeErrorMessages = true,
}: CodeRun): Promise<Json | undefined> => {
  const module: { exports: unknown } = { exports: undefined }
  new Function('module', 'AppError', 'signal', code)(module, AppError, signal)
  if (typeof module.exports !== 'function') throw new AppError('unprocessable', `The ${name} cannot run.`)
  try {
    const result: unknown = await module.exports(JSON.parse(JSON.stringify(argument)))
    const json = JSON.stringify(result)
    return json === undefined ? undefined : JSON.parse(json)
  } catch (thrown) {
    if (thrown instanceof AppError) throw thrown
    throw new AppError(
      'code_failed',
      exposeErrorMessages ? `The ${name} threw ${thrown}` : `The ${name} failed.`,
    )
  }
}

/** Authenticator, vault, stored proxies and their code as the gateway knows them, over the tables above. */
export const createFarSide = (log: Log = silentLog()): FarSide => {
  const uses: FarSide['uses'] = []
  const proxies: FarSide['proxies'] = new Map()
  const runs: FarSide['runs'] = []
  const records: FarSide['records'] = []
  return {
    uses,
    proxies,
    runs,
    records,
    deps: {
      proxies: { find: async (key) => proxies.get(key) },
      tenantGuards: { of: () => ({ mode: undefined, hasEgressOnly: false }) },
      code: {
        run: (run) => {
          runs.push(run)
          return runHere(run)
        },
      } satisfies Pick<Code, 'run'>,
      runWithoutEffects: () =>
        Promise.reject(new AppError('gateway_timeout', 'No code runs in dry runs here.')),
      clusterOf: () =>
        Promise.reject(new AppError('gateway_timeout', 'No proxy with certificates works here.')),
      dial: () => Promise.reject(new AppError('gateway_timeout', 'Bodies are not streamed here.')),
      admit: async () => {},
      audit: async (more) => {
        records.push(...more)
      },
      log,
      clock: { now: () => Date.now() },
      steadyClock,
      metrics: createMetrics(),
      expressions: createExpressions(),
      authenticator: {
        authenticate: async (key) => {
          const caller = typeof key === 'string' ? CALLERS.get(key) : undefined
          if (caller === undefined) throw new AppError('unauthenticated', 'The key is not known.')
          return caller
        },
        consoleSession: () =>
          Promise.reject(new AppError('unauthenticated', 'No console session exists here.')),
        identify: async ({ tenantId, id }) => {
          const caller = [...CALLERS.values()].find(
            (each) => each.tenantId === tenantId && each.actorId === id,
          )
          if (caller === undefined) throw new AppError('unauthenticated', 'The application is gone.')
          return caller
        },
      },
      vault: {
        known: async (ids: readonly string[]) =>
          new Map(ids.flatMap((id) => (Object.hasOwn(TOKENS, id) ? [[id, TOKENS[id]?.container]] : []))),
        use: async (ids: readonly string[], context: UseContext) => {
          if (ids.includes('slow')) await new Promise(() => {})
          if (ids.includes('down')) throw new Error('the disk is full of 4242424242424242')
          if (ids.includes('denied')) throw new AppError('forbidden', 'Token "denied" may not be used.')
          const tokens = new Map<string, UsedToken>()
          for (const id of ids) {
            const token = TOKENS[id]
            if (token === undefined) throw new AppError('invalid_expression', `No token has the id "${id}".`)
            tokens.set(id, token)
          }
          uses.push({ ids, context })
          return tokens
        },
      } as unknown as GatewayDeps['vault'],
    },
  }
}

/** Exchanges of a gateway over this far side, which run as many calls as a test makes. */
export const exchangesOf = (
  far: FarSide,
  deps: Partial<ExchangeDeps> = {},
  options: Partial<ExchangeOptions> = {},
): StartExchange =>
  createExchanges(
    {
      ...far.deps,
      admission: createAdmission({ running: 10, bytes: 10_000 }),
      codeAdmission: createAdmission({ running: 10, bytes: 10_000 }),
      uploads: createAdmission({ running: 10, bytes: 0 }),
      held: createShares(2 ** 30, ''),
      hosts: createRecentHosts(10, () => 0),
      calls: new OpenCalls(0, { ...far.deps, ...deps }),
      ...deps,
    },
    {
      prefixes: headerRules(['SVC', 'BT']),
      destinations: { allow: [], ports: [443], http: false },
      stepMs: 1000,
      codeStepMs: 1000,
      responseMs: 1000,
      searchMs: 1000,
      body: BODY_LIMITS,
      hasConsole: false,
      bodyLimit: 1000,
      upload: STREAM_LIMITS,
      ...options,
    },
  )

/** A response with its complete body. */
export interface Responded {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly json: any
}

export interface CallOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
  /** Destination; sent as SVC-PROXY-URL. */
  readonly to?: string
  /** API key; default the private application's, null for none. */
  readonly key?: string | null
}

/** HTTP/1.1 through a port, with exactly the headers given. */
export const call = (port: number, path: string, options: CallOptions = {}): Promise<Responded> =>
  new Promise((resolve, reject) => {
    const { method = 'POST', body, to, key = KEYS.private } = options
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port,
        path,
        method,
        headers: {
          ...(key === null ? {} : { 'svc-api-key': key }),
          ...(to === undefined ? {} : { 'svc-proxy-url': to }),
          ...(body === undefined || method === 'POST' ? {} : { 'content-length': Buffer.byteLength(body) }),
          ...(options.headers as Record<string, string>),
        },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          let json: unknown
          try {
            json = JSON.parse(text)
          } catch {}
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })

export interface World {
  readonly directory: string
  readonly envoy: RunningEnvoy
  readonly port: number
  readonly dns: DnsServer
  readonly authority: Authority
  /** `dest.test`, HTTP/1.1 over TLS. */
  readonly destination: Destination
  readonly far: FarSide
  /** Paths that the API's stand-in was asked for. */
  readonly apiPaths: string[]
  /** URL of a name at the destination's port. */
  url(path?: string, host?: string): string
  post(path: string, options?: CallOptions): Promise<Responded>
  close(): Promise<void>
}

export interface WorldOptions {
  readonly bootstrap?: Partial<Omit<BootstrapOptions, 'egress'>> & {
    readonly egress?: Partial<BootstrapOptions['egress']>
  }
  readonly gateway?: Partial<GatewayOptions>
  readonly deps?: Partial<GatewayDeps>
  /** false: no gateway is started; the socket is `gateway.sock` in the directory. */
  readonly withGateway?: boolean
  readonly protocol?: 'h1' | 'h2'
  readonly log?: Log
}

const NAMES = ['dest.test', '*.dest.test', 'mixed.test', '127.0.0.1', 'api.test', '*.api.test']

/** Envoy, gateway, name server, a TLS destination of a private authority, and a stand-in for the API. */
export const startWorld = async (options: WorldOptions = {}): Promise<World> => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-egress-'))
  const authority = await createAuthority()
  const dns = await startDns()
  const destination = await startDestination(await authority.issue(NAMES), {
    protocol: options.protocol ?? 'h1',
  })
  dns.set('dest.test', { a: ['127.0.0.1'] })
  writeFileSync(join(directory, 'trust.pem'), authority.pem)
  const egress = { allow: ['127.0.0.1/32'], http: false, ...options.bootstrap?.egress }
  const farSide = createFarSide(options.log)
  const addresses = createAddresses(createResolve([{ address: '127.0.0.1', port: dns.port }]), {
    allow: egress.allow,
    own: undefined,
  })
  const dial = (host: string, port: number) => dialed(addresses, host, port)
  const far: FarSide = { ...farSide, deps: { ...farSide.deps, dial, ...options.deps } }
  const apiPaths: string[] = []
  const api = createServer((request, response) => {
    apiPaths.push(`${request.method} ${request.url}`)
    response.end('api')
  })
  api.listen(join(directory, 'api.sock'))
  await once(api, 'listening')
  const gateway =
    options.withGateway === false
      ? undefined
      : await startGateway(far.deps, {
          socketPath: join(directory, 'gateway.sock'),
          logSocketPath: join(directory, 'log.sock'),
          prefixes: ['SVC', 'BT'],
          egress: { allow: egress.allow, http: egress.http, ports: '*' },
          ...options.gateway,
        })
  const envoy = await startEnvoy(directory, {
    gatewaySockets: ['gateway.sock'],
    gatewayLogSockets: ['log.sock'],
    apiSocket: 'api.sock',
    prefixes: ['SVC', 'BT'],
    ...options.bootstrap,
    egress: {
      ownAddresses: [],
      trustBundle: 'trust.pem',
      resolvers: [{ address: '127.0.0.1', port: dns.port }],
      ...egress,
    },
  })
  return {
    directory,
    envoy,
    port: envoy.port,
    dns,
    authority,
    destination,
    far,
    apiPaths,
    url: (path = '', host = 'dest.test') => `https://${host}:${destination.port}${path}`,
    post: (path, callOptions) => call(envoy.port, path, callOptions),
    async close() {
      await envoy.stop()
      await gateway?.close(100)
      await destination.close()
      await dns.close()
      await closeServer(api)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

const closeServer = (server: Server) =>
  new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
