import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { startAdmin } from '../../src/admin/server.ts'
import type { Journal } from '../../src/audit/types.ts'
import type { Clock } from '../../src/common/clock.ts'
import { newId, newKey } from '../../src/common/ids.ts'
import { createLog, type Log } from '../../src/common/log.ts'
import { Secret } from '../../src/common/secret.ts'
import { type Config, loadConfig } from '../../src/config.ts'
import type { PluginSource } from '../../src/kernel/load/discover.ts'
import { acquireJournal } from '../../src/roles/acquire-journal.ts'
import { createTenant } from '../../src/roles/create-tenant.ts'
import { openRuntime } from '../../src/roles/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { checkedBefore } from './checked.ts'
import { sharedSandbox } from './shared-sandbox.ts'
import { newStoreLocation } from './test-store.ts'

type AdminDeps = Parameters<typeof startAdmin>[0]
type AdminOptions = Parameters<typeof startAdmin>[1]
type RuntimeParts = NonNullable<Parameters<typeof openRuntime>[2]>

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
  readonly outbound?: Partial<Config['egress']> & { readonly trust?: string }
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

/** The parts of a runtime that are a test's: a clock that it moves, a store, a journal that it can break. */
const partsOf = (clock: Clock, { openStore, journal }: ServiceOptions): RuntimeParts => ({
  clock,
  steadyClock: clock,
  validationCacheIn: () => checkedBefore,
  sandboxOf: () => sharedSandbox,
  ...(openStore && { openStore: async ({ location }) => openStore(location) }),
  ...(journal && { acquireJournal: async (...args) => journal(await acquireJournal(...args)) }),
})

/**
 * The admin role in this process, put together as the program does (src/roles/runtime.ts): real store (SQLite, or what
 * test-store.ts says), keys, journal, expressions, vault, kernel and HTTP, in a directory of its own, with a first
 * tenant. Everything is closed when the test ends.
 */
export const startTestService = async (t: Test, options: ServiceOptions = {}) => {
  const { beside } = options
  const directory = beside?.directory ?? mkdtempSync(join(tmpdir(), 'sidevault-service-'))
  const clock = options.clock ?? beside?.clock ?? testClock()
  const log = options.log ?? createLog('test', 'silent')
  const location = beside?.location ?? (await newStoreLocation(directory))
  const { trust = '', ...egress } = options.outbound ?? {}
  const trustBundle = join(directory, 'trust.pem')
  writeFileSync(trustBundle, trust)
  const remove = () => {
    if (!beside) rmSync(directory, { recursive: true, force: true })
  }
  const config = loadConfig({ SIDEVAULT_DATA_DIR: directory })
  const runtime = await openRuntime(
    {
      ...config,
      ...(location.startsWith('postgres:') ? { postgres: new Secret(location) } : { store: location }),
      headerPrefixes: ['SVC', 'BT'],
      destinationTimeoutMs: 5_000,
      egress: { ...config.egress, ...egress },
      pluginConfig: options.configs ?? {},
    },
    { name: beside ? 'beside' : 'admin', owner: true, trustBundle, log, plugins: options.plugins ?? ['*'] },
    partsOf(clock, options),
  ).catch((thrown) => {
    remove()
    throw thrown
  })
  const { store, keys, kernel, metrics } = runtime
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
    await runtime.close()
    remove()
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
    clock,
    store,
    keys,
    journal: runtime.journal,
    metrics,
    kernel,
    admin,
    hostApi: runtime.hostApi,
    tenantId: tenant.id,
    managementKey: tenant.key,
    newTenant,
    call,
    application,
  }
}

export type TestService = Awaited<ReturnType<typeof startTestService>>
