import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { startAdmin } from '../../src/admin/server.ts'
import { createIngest } from '../../src/audit/ingest.ts'
import { openJournal } from '../../src/audit/journal.ts'
import type { Journal } from '../../src/audit/types.ts'
import type { Clock } from '../../src/common/clock.ts'
import { newId, newKey } from '../../src/common/ids.ts'
import { createLog, type Log } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { Secret } from '../../src/common/secret.ts'
import { loadConfig } from '../../src/config.ts'
import { createDestinationCheck } from '../../src/egress/check-destination.ts'
import { createOutbound } from '../../src/egress/fetch.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { createHostApi } from '../../src/host-api/host-api.ts'
import { startKernel } from '../../src/kernel/kernel.ts'
import type { PluginSource } from '../../src/kernel/load/discover.ts'
import { openKeys } from '../../src/keys/open.ts'
import { createTenant } from '../../src/roles/create-tenant.ts'
import { detectConfinement } from '../../src/sandbox/parent/confinement.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { createInProcessState } from '../../src/shared-state/in-process.ts'
import { createGuessLimit } from '../../src/shared-state/rate-limits.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { createVault } from '../../src/vault/vault.ts'
import { checkedBefore } from './checked.ts'
import { newStoreLocation } from './test-store.ts'

type AdminDeps = Parameters<typeof startAdmin>[0]
type AdminOptions = Parameters<typeof startAdmin>[1]
type OutboundOptions = Parameters<typeof createOutbound>[0]

const pluginsDir = fileURLToPath(new URL('../../plugins', import.meta.url))

/** A clock that tests move. Starts at a fixed time. */
export const testClock = (
  start = Date.parse('2026-03-01T12:00:00Z'),
): Clock & { advance(ms: number): void } => {
  let now = start
  return {
    now: () => now,
    advance: (ms) => {
      now += ms
    },
  }
}

/** Parts that services on one data directory share. */
interface Shared {
  readonly directory: string
  /** Of the store. */
  readonly location: string
  readonly rootKey: Secret<Buffer>
  readonly clock: Clock
  readonly tenantId: string
  readonly managementKey: string
}

export interface ServiceOptions {
  /** Default `['*']`: every plugin of the service. */
  readonly plugins?: readonly PluginSource[]
  readonly configs?: Readonly<Record<string, unknown>>
  readonly clock?: Clock
  readonly log?: Log
  /** Where the admin role listens; default nowhere: calls are injected. */
  readonly admin?: Partial<AdminOptions>
  /** Further parts that /readyz asks, and processes that /metrics asks. */
  readonly checks?: NonNullable<AdminDeps['checks']>
  readonly sources?: NonNullable<AdminDeps['sources']>
  readonly caPem?: AdminDeps['caPem']
  /** Another service whose database, keys and tenants this one shares, as a second process would. */
  readonly beside?: Shared
  /** Opens the database in another way, e.g. one that notes what runs. */
  readonly openStore?: (location: string) => Store
  /** Where code, and callbacks, may go. */
  readonly outbound?: Partial<OutboundOptions['egress']> & { readonly trust?: string }
  /** Stands in front of the real journal, e.g. one that fails on command. */
  readonly journal?: (real: Journal) => Journal
}

/** A response with its body both as text and, where it is JSON, parsed. */
export interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly json: any
}

export interface CallOptions {
  /** Default: the first tenant's management key. `null`: none. */
  readonly key?: string | null
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const agent = new Agent({ keepAlive: true })

/** A call on a connection, as `inject` makes it without one. */
const overHttp = (
  address: string,
  sent: {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly payload: string | undefined
  },
): Promise<Omit<Response, 'json'>> =>
  new Promise((resolve, reject) => {
    const { method, path, payload } = sent
    const length = payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) }
    const headers = { host: 'localhost:80', ...length, ...sent.headers }
    const outgoing = request(address, { method, path, headers, agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Record<string, string | undefined>,
          text: Buffer.concat(chunks).toString(),
        }),
      )
      response.on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end(payload)
  })

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * The admin role in this process: real store (SQLite, or what test-store.ts says), keys, journal, expressions, vault,
 * kernel and HTTP, in a directory of its own, with a first tenant. Everything is closed when the test ends.
 */
export const startTestService = async (t: Test, options: ServiceOptions = {}) => {
  const { beside } = options
  const directory = beside?.directory ?? mkdtempSync(join(tmpdir(), 'sidevault-service-'))
  const rootKey = beside?.rootKey ?? new Secret(randomBytes(32))
  const clock = options.clock ?? beside?.clock ?? testClock()
  const log = options.log ?? createLog('test', 'silent')
  const metrics = createMetrics()
  const location = beside?.location ?? (await newStoreLocation(directory))
  const store = options.openStore?.(location) ?? (await openStore({ location, mode: 'read-write', log }))
  const keys = await openKeys({ keys: store.keys, clock }, { rootKey, create: true })
  const mac = (data: string | Buffer) => keys.mac('audit', data)
  const real = await openJournal(
    { mac, log },
    { directory: join(directory, 'audit'), name: beside ? 'beside' : 'admin' },
  )
  const journal = options.journal?.(real) ?? real
  const ingest = createIngest({ logs: store.logs, mac, log }, { directory: join(directory, 'audit') })
  const { trust = '', ...opened } = options.outbound ?? {}
  const egress = { allow: [], ports: [443], http: false, resolvers: [], ...opened }
  const outbound = createOutbound({
    egress,
    trust,
    timeoutMs: 5_000,
  })
  const hostApi = createHostApi({
    sandbox: {
      confine: () => detectConfinement([], log),
      start: (confinement) => createSandbox({ log, metrics }, { confinement }),
    },
    fetch: outbound.fetch,
  })
  const close = async () => {
    await hostApi.close()
    await outbound.close()
    await real.close()
    await store.close()
    if (!beside) rmSync(directory, { recursive: true, force: true })
  }
  const admitGuesses = createGuessLimit(
    { state: createInProcessState({ clock }), hash: mac },
    loadConfig({}).rateLimits.guesses,
  )
  const kernel = await startKernel(
    {
      store,
      keys,
      clock,
      log,
      metrics,
      journal,
      ingested: () => ingest.catchUp(),
      checkDestination: createDestinationCheck(egress),
      headerPrefixes: ['SVC', 'BT'],
      createExpressions,
      createVault: (parts) =>
        createVault({
          ...parts,
          tokens: store.tokens,
          keys,
          journal,
          clock,
          metrics,
          ...(admitGuesses === undefined ? {} : { admitGuesses }),
        }),
      createCode: hostApi.createCode,
      fetch: outbound.fetch,
    },
    {
      plugins: options.plugins ?? ['*'],
      pluginsDir,
      validationCache: checkedBefore,
      ...(options.configs === undefined ? {} : { configs: options.configs }),
    },
  ).catch(async (thrown) => {
    await close()
    throw thrown
  })
  const admin = await startAdmin(
    {
      kernel,
      metrics,
      log,
      clock,
      checks: options.checks ?? {},
      sources: options.sources ?? [],
      caPem: options.caPem,
    },
    { listen: 'nowhere', ...options.admin },
  )
  t.teardown(async () => {
    await admin.close()
    await kernel.stop()
    await close()
  })

  /** A tenant of its own with a management key (none when no plugin knows credentials). */
  const newTenant = async (name = 'Tenant') => {
    const id = newId()
    const key = newKey()
    const credentials = kernel.registry.ports.credentials ?? { install: async () => {} }
    await createTenant({ store, keys, credentials }, { id, name, key: new Secret(key), now: clock.now() })
    return { id, key }
  }
  const tenant = beside ? { id: beside.tenantId, key: beside.managementKey } : await newTenant('First')

  const call = async (method: string, path: string, sent: CallOptions = {}): Promise<Response> => {
    const key = sent.key === undefined ? tenant.key : sent.key
    const json = sent.body !== undefined && typeof sent.body !== 'string'
    const payload = json ? JSON.stringify(sent.body) : (sent.body as string | undefined)
    const headers = {
      ...(key === null ? {} : { 'svc-api-key': key }),
      ...(json ? { 'content-type': 'application/json' } : {}),
      ...sent.headers,
    }
    if (admin.direct !== undefined) {
      const response = await overHttp(admin.direct.address, { method, path, headers, payload })
      return { ...response, json: parsed(response.text) }
    }
    const response = await admin.app.inject({
      method: method as 'GET',
      url: path,
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
    return {
      status: response.statusCode,
      headers: response.headers as Record<string, string | undefined>,
      text: response.body,
      json: parsed(response.body),
    }
  }

  /** The key of a new application with these grants. */
  const application = async (
    grants: { readonly permissions?: readonly string[]; readonly rules?: readonly unknown[] },
    type: 'public' | 'private' | 'management' = 'private',
    key: string = tenant.key,
  ): Promise<string> => {
    const response = await call('POST', '/applications', { key, body: { name: 'test', type, ...grants } })
    if (response.status !== 201) throw new Error(`cannot create an application: ${response.text}`)
    return response.json.key
  }

  return {
    directory,
    location,
    rootKey,
    clock,
    store,
    keys,
    journal,
    metrics,
    kernel,
    admin,
    hostApi,
    outbound,
    tenantId: tenant.id,
    managementKey: tenant.key,
    newTenant,
    call,
    application,
  }
}

export type TestService = Awaited<ReturnType<typeof startTestService>>
