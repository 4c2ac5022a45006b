import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startAdmin } from '../admin/server.ts'
import { systemClock } from '../common/clock.ts'
import { isObject } from '../common/json.ts'
import { createLog } from '../common/log.ts'
import { parseJson } from '../common/parse-json.ts'
import { Secret } from '../common/secret.ts'
import { loadConfig } from '../config.ts'
import { planBody } from '../gateway/body/rewrite.ts'
import { resolver } from '../gateway/language.ts'
import { createTasks } from '../kernel/tasks/tasks.ts'
import { bootstrapTenant } from '../roles/bootstrap-tenant.ts'
import { openRuntime } from '../roles/runtime.ts'

export interface TestVaultOptions {
  /** Plugins as in SIDEVAULT_PLUGINS: `*`, folders, npm names, JSON files; file URLs too. */
  readonly plugins: readonly (string | URL)[]
  /** Configuration as in SIDEVAULT_PLUGIN_CONFIG: an object by plugin name. */
  readonly configs?: Readonly<Record<string, unknown>>
  /** Default `fatal`: what plugins log is not shown. */
  readonly logLevel?: string
}

export interface TestResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of any shape
  readonly body: any
}

export interface TestCall {
  /** Default: the management key. `null`: none. */
  readonly key?: string | null
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A complete vault inside a test, with the given plugins. */
export interface TestVault {
  /** Key of the first tenant's management application. */
  readonly key: string
  /** Calls the management API; `path` with its query. */
  call(method: string, path: string, sent?: TestCall): Promise<TestResponse>
  /** Creates an application with these permissions; returns its key. */
  application(permissions: readonly string[], type?: 'private' | 'public' | 'management'): Promise<string>
  /**
   * Returns what a destination would receive for this JSON body through `/proxy` with that key (`token:use`). Rejects
   * with the error of a denied request.
   */
  send(body: unknown, key: string): Promise<unknown>
  /**
   * Delivers all audit records so far to consumers, also to those that failed, and runs each job once. Resolves when
   * that is done. Nothing runs otherwise.
   */
  runTasks(): Promise<void>
  /** Stops plugins, closes everything and removes the data. */
  close(): Promise<void>
}

const parsed = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

/**
 * Starts a vault for one test: real store, keys, journal, expressions, kernel and HTTP, with its own data and without a
 * port. Rejects with all issues of the plugins, as `sidevault start` would report them.
 */
export const startTestVault = async ({
  plugins,
  configs = {},
  logLevel = 'fatal',
}: TestVaultOptions): Promise<TestVault> => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-plugin-'))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  const config = {
    ...loadConfig({ SIDEVAULT_DATA_DIR: directory }),
    plugins: plugins.map((plugin) => (plugin instanceof URL ? fileURLToPath(plugin) : plugin)),
    pluginConfig: configs,
  }
  const log = createLog('test', logLevel)
  const runtime = await openRuntime(config, { name: 'admin', owner: true, log }).catch((thrown) => {
    remove()
    throw thrown
  })
  const { kernel, metrics, store, maintenance } = runtime
  const key = `key_${randomBytes(24).toString('hex')}`
  await bootstrapTenant(runtime, { bootstrapKey: new Secret(key), now: systemClock.now(), log })
  const admin = await startAdmin({ kernel, metrics, log }, { listen: 'nowhere' })
  const tasks = createTasks({ store, tasks: kernel.registry.tasks, registry: metrics.registry, log }, 'test')
  await tasks.register()

  const call: TestVault['call'] = async (method, path, sent = {}) => {
    const response = await admin.app.inject({
      method: method as 'GET',
      url: path,
      headers: {
        ...(sent.key === null ? {} : { 'svc-api-key': sent.key ?? key }),
        ...(sent.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...sent.headers,
      },
      ...(sent.body === undefined ? {} : { payload: JSON.stringify(sent.body) }),
    })
    const headers = response.headers as Record<string, string | undefined>
    return { status: response.statusCode, headers, body: parsed(response.body) }
  }

  return {
    key,
    call,
    application: async (permissions, type = 'private') => {
      const { status, body } = await call('POST', '/applications', {
        body: { name: 'test', type, permissions },
      })
      if (status !== 201 || !isObject(body)) throw new Error(`no application: ${JSON.stringify(body)}`)
      return String(body.key)
    },
    send: async (body, sender) => {
      const caller = await kernel.authenticator.authenticate(sender)
      const text = Buffer.from(JSON.stringify(body))
      const plan = await planBody(text, 'application/json', undefined, kernel.expressions)
      if (plan.kind === 'pass') return body
      const used = await kernel.vault.use(plan.ids, { caller, traceId: 'test', now: systemClock.now() })
      return parseJson((await plan.apply(resolver(used))).toString())
    },
    runTasks: async () => {
      await maintenance.catchUp()
      await tasks.round('all')
    },
    close: async () => {
      await Promise.all([admin.close(), tasks.stop()])
      await runtime.close()
      remove()
    },
  }
}
