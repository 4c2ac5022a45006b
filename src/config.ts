import { dirname, resolve } from 'node:path'
import { Secret } from './common/secret.ts'
import { ConfigError, type ConfigIssue } from './config/issue.ts'
import {
  isLoopback,
  type ListenAddress,
  parseBlock,
  parseListen,
  parsePorts,
  parsePostgres,
  parsePrefix,
  parseRedisUrl,
  parseResolver,
  readable,
  SettingError,
} from './config/parse.ts'
import { type FileContent, readSettings } from './config/read.ts'
import { type SettingName, type Settings, settingNames, settingOf, variableOf } from './config/schema.ts'

export { ConfigError, type ConfigIssue } from './config/issue.ts'
export type { ListenAddress } from './config/parse.ts'
export type { FileContent } from './config/read.ts'

/** The checked configuration (docs/reference/configuration.md). Paths are absolute, times in the unit of their name. */
export interface Config {
  readonly listen: ListenAddress
  /** Where the admin process serves the management API itself. Undefined: only behind the edge. */
  readonly apiListen: ListenAddress | undefined
  /** Where health, metrics and documentation are served. Undefined: with the management API. */
  readonly opsListen: ListenAddress | undefined
  /** Where the forward proxy listens. Undefined: there is none. */
  readonly forwardListen: ListenAddress | undefined
  /** PEM file with chain and key of the forward proxy's authority. Undefined: one in the store. */
  readonly forwardCa: string | undefined
  /** True when `listen` is a loopback address. */
  readonly loopback: boolean
  /** Whether the console is served, by processes with the role admin. */
  readonly console: boolean
  /** Base of relative paths and plugin folders. */
  readonly baseDir: string
  readonly dataDir: string
  readonly bootstrapKey: Secret<string> | undefined
  /** Upper case, the first one canonical. */
  readonly headerPrefixes: readonly [string, ...string[]]
  /** Path of the SQLite file; unused where `postgres` is set. */
  readonly store: string
  /** URL of the database that replicas share. */
  readonly postgres: Secret<string> | undefined
  /** Limits of each process towards PostgreSQL. */
  readonly storeLimits: {
    /** Connections for requests. */
    readonly connections: number
    /** Statement timeout of the server. */
    readonly statementMs: number
    /** Lock timeout of the server. */
    readonly lockMs: number
    /** Timeout to get a free or new connection. */
    readonly connectMs: number
  }
  /** Undefined: short-lived shared state is held in each process. */
  readonly redisUrl: Secret<string> | undefined
  /** `file:…`, `env:…` or `passphrase:…`; undefined: a key file made on first start. */
  readonly rootKeySource: Secret<string> | undefined
  /** `file:…` or `env:…`, of a gateway for one tenant. */
  readonly delegatedKeySource: Secret<string> | undefined
  readonly plugins: readonly string[]
  /** Folders for relative paths and npm names in `plugins`, in lookup order. */
  readonly pluginBases: readonly string[]
  readonly pluginConfig: Readonly<Record<string, unknown>>
  readonly egress: {
    readonly allow: readonly string[]
    readonly ports: readonly number[] | '*'
    readonly http: boolean
    readonly ca: string | undefined
    readonly resolvers: readonly { readonly address: string; readonly port: number }[]
  }
  /** Calls a minute; undefined: unlimited. */
  readonly rateLimits: {
    readonly perKey: number | undefined
    readonly perAddress: number | undefined
    readonly perOrigin: number | undefined
    /** Values of `data` that a key searches for without seeing the data. */
    readonly guesses: number | undefined
    /** True for the default limits: each process then counts by itself. */
    readonly areDefault: boolean
  }
  readonly tls: { readonly certificate: string; readonly key: string } | undefined
  readonly workers: number
  readonly sandboxMemoryMb: number
  /** Required confinement of the processes that run tenants' code. The service does not start without it. */
  readonly sandboxRequire: readonly string[]
  readonly envoyMemoryBytes: number
  readonly logLevel: string
  readonly accessLog: 'failures' | 'all'
  readonly bodyLimit: number
  readonly proxyBodyLimit: number
  readonly destinationTimeoutMs: number
  /** Undefined: the default of the card plugin. */
  readonly cvcSeconds: number | undefined
  readonly auditSync: boolean
  /** Retention of audit journal files whose records are in the store. */
  readonly auditRetention: {
    readonly days: number | 'forever'
    /** Undefined: unlimited with `forever`, else a part of the disk. */
    readonly mib: number | undefined
  }
  readonly drainMs: number
  /**
   * Content of the configuration file and of `…_FILE` variables. Child processes load the same configuration from it
   * and the environment.
   */
  readonly file: Secret<FileContent>
}

/** Ports on which the service listens, as configured. */
export const listenPorts = ({
  listen,
  apiListen,
  opsListen,
  forwardListen,
}: Pick<Config, 'listen' | 'apiListen' | 'opsListen' | 'forwardListen'>): readonly number[] =>
  [listen, apiListen, opsListen, forwardListen].flatMap((address) =>
    address === undefined ? [] : [address.port],
  )

interface ConfigArguments {
  /** A JSON or YAML file; default: the variable SIDEVAULT_CONFIG. */
  readonly file?: string | undefined
  /** Content of an accepted file. With it, the file is not read again, and files that it names are not checked. */
  readonly content?: FileContent | undefined
  /** Base of relative paths. Default: the working directory. */
  readonly cwd?: string
  /** An argument that names a variable, which then may have any name: `<NAME>` or `env:<NAME>`. */
  readonly named?: string | undefined
}

/** Plugins named in the file are relative to it; those named by the environment, to the working directory. */
const pluginBases = (cwd: string, file: string | undefined, variable: string | undefined) => {
  if (file === undefined) return [cwd]
  const folder = dirname(resolve(cwd, file))
  return [...new Set(variable ? [cwd, folder] : [folder, cwd])]
}

/**
 * Calls a minute. 5,000 and 10,000 a second are above what services need and below a flood; 100 are above what visitors
 * of a shop behind one address need. 60 guesses are above what people need, and 100,000 numbers take a day.
 */
const RATE_LIMITS = {
  rate_limit_per_key: '300000',
  rate_limit_per_address: '600000',
  rate_limit_per_origin: '6000',
  rate_limit_guesses: '60',
} as const

const rateLimitsOf = (settings: Settings): Config['rateLimits'] => {
  const {
    rate_limit_per_key: key,
    rate_limit_per_address: address,
    rate_limit_per_origin: origin,
    rate_limit_guesses: guesses,
  } = { ...RATE_LIMITS, ...settings }
  const perMinute = (text: string) => (text === 'none' || text === '0' ? undefined : Number(text))
  return {
    perKey: perMinute(key),
    perAddress: perMinute(address),
    perOrigin: perMinute(origin),
    guesses: perMinute(guesses),
    areDefault:
      key === RATE_LIMITS.rate_limit_per_key &&
      address === RATE_LIMITS.rate_limit_per_address &&
      origin === RATE_LIMITS.rate_limit_per_origin,
  }
}

/** Merges and checks environment and file. Throws ConfigError with all issues. */
export const loadConfig = (env: NodeJS.ProcessEnv, args: ConfigArguments = {}): Config => {
  const cwd = args.cwd ?? process.cwd()
  const path = args.file ?? (env.SIDEVAULT_CONFIG || undefined)
  const read = readSettings(env, { file: path, content: args.content, named: args.named }, cwd)
  const { settings } = read
  const issues: ConfigIssue[] = [...read.issues]
  const issue = (name: SettingName, problem: string, fix: string) =>
    issues.push({ name: variableOf(name), message: problem, fix })

  const parsed = <T>(name: SettingName, parse: () => T): T | undefined => {
    try {
      return parse()
    } catch (error) {
      if (!(error instanceof SettingError)) throw error
      issue(name, error.message, error.fix)
      return undefined
    }
  }
  const each = <T>(name: SettingName, items: readonly string[], parse: (item: string) => T): readonly T[] =>
    items.flatMap((item) => parsed(name, () => [parse(item)]) ?? [])
  const pem = (path: string) => {
    const full = resolve(cwd, path)
    return args.content === undefined ? readable(full) : full
  }
  const file = (name: 'egress_ca' | 'tls_cert' | 'tls_key' | 'forward_ca') => {
    const path = settings[name]
    return path === undefined ? undefined : parsed(name, () => pem(path))
  }

  const listen = parsed('listen', () => parseListen(settings.listen ?? '127.0.0.1:8080'))
  const loopback = listen === undefined || isLoopback(listen.host)
  const certificate = file('tls_cert')
  const key = file('tls_key')
  if (settings.tls_cert !== undefined && settings.tls_key === undefined)
    issue(
      'tls_key',
      'a certificate is set without its key.',
      'Set both SIDEVAULT_TLS_CERT and SIDEVAULT_TLS_KEY.',
    )
  if (settings.tls_key !== undefined && settings.tls_cert === undefined)
    issue(
      'tls_cert',
      'a key is set without its certificate.',
      'Set both SIDEVAULT_TLS_CERT and SIDEVAULT_TLS_KEY.',
    )
  const plain = settings.tls_cert === undefined && settings.tls_key === undefined
  if (!loopback && plain && settings.insecure_listen !== true)
    issue(
      'listen',
      `"${settings.listen}" is reachable from other machines, but no certificate is set: keys and card numbers would be sent in clear text.`,
      'Set SIDEVAULT_TLS_CERT and SIDEVAULT_TLS_KEY, listen on 127.0.0.1, or set SIDEVAULT_INSECURE_LISTEN=true behind a proxy that terminates TLS.',
    )

  /** A listener besides the edge: beyond loopback only with TLS where it takes keys, and on a port of its own. */
  const furtherListen = (
    name: 'api_listen' | 'ops_listen' | 'forward_listen',
    others: Partial<Record<SettingName, ListenAddress | undefined>>,
  ) => {
    const at = settings[name]
    const own = at === undefined ? undefined : parsed(name, () => parseListen(at))
    if (own === undefined) return undefined
    if (!isLoopback(own.host) && plain && name !== 'ops_listen')
      issue(
        name,
        `"${at}" is reachable from other machines, but no certificate is set: keys and card numbers would be sent in clear text.`,
        'Set SIDEVAULT_TLS_CERT and SIDEVAULT_TLS_KEY, or listen on 127.0.0.1.',
      )
    for (const [other, listener] of Object.entries(others))
      if (own.port !== 0 && own.port === listener?.port)
        issue(name, `port ${own.port} is that of ${variableOf(other)}.`, 'Use another port.')
    return own
  }
  const apiListen = furtherListen('api_listen', { listen })
  const opsListen = furtherListen('ops_listen', { listen, api_listen: apiListen })
  const forwardListen = furtherListen('forward_listen', {
    listen,
    api_listen: apiListen,
    ops_listen: opsListen,
  })

  const address = settings.store?.match(/^postgres(ql)?:/) ? settings.store : undefined
  const postgres = address === undefined ? undefined : parsed('store', () => parsePostgres(address, pem))
  if (address === undefined && settings.store !== undefined && settings.store !== 'sqlite')
    issue(
      'store',
      'the value is not a store.',
      'Leave it unset, or set sqlite or postgres://user:password@host/database.',
    )
  const redisUrl = settings.redis_url
  if (redisUrl !== undefined) parsed('redis_url', () => parseRedisUrl(redisUrl))

  const prefixes = each('header_prefixes', settings.header_prefixes ?? ['SVC'], parsePrefix)
  const [canonical, ...others] = new Set(prefixes)
  if (canonical === undefined && settings.header_prefixes?.length === 0)
    issue('header_prefixes', 'the list is empty.', 'Name at least one prefix, e.g. SVC.')
  const forwardCa = file('forward_ca')
  const egress = {
    allow: each('egress_allow', settings.egress_allow ?? [], parseBlock),
    ports: parsed('egress_ports', () => parsePorts(settings.egress_ports ?? ['443'])) ?? [],
    http: settings.egress_http ?? false,
    ca: file('egress_ca'),
    resolvers: each('egress_dns', settings.egress_dns ?? [], parseResolver),
  }
  if (listen === undefined || canonical === undefined || issues.length > 0) throw new ConfigError(issues)

  const secret = (text: string | undefined) => (text === undefined ? undefined : new Secret(text))
  const absolute = (source: string | undefined) =>
    source?.replace(/^file:(.*)$/s, (_, path) => `file:${resolve(cwd, path)}`)
  const dataDir = resolve(cwd, settings.data_dir ?? '.sidevault')
  return {
    listen,
    apiListen,
    opsListen,
    forwardListen,
    forwardCa,
    loopback,
    console: settings.console ?? (loopback && (apiListen === undefined || isLoopback(apiListen.host))),
    baseDir: cwd,
    dataDir,
    bootstrapKey: secret(settings.bootstrap_key),
    headerPrefixes: [canonical, ...others],
    store: resolve(dataDir, 'sidevault.db'),
    postgres: secret(postgres),
    storeLimits: {
      connections: settings.store_connections ?? 14,
      statementMs: (settings.store_timeout_seconds ?? 10) * 1000,
      lockMs: (settings.store_lock_timeout_seconds ?? 5) * 1000,
      connectMs: (settings.store_connect_timeout_seconds ?? 5) * 1000,
    },
    redisUrl: secret(redisUrl),
    rootKeySource: secret(absolute(settings.root_key)),
    delegatedKeySource: secret(absolute(settings.delegated_key)),
    plugins: settings.plugins ?? ['*'],
    pluginBases: pluginBases(cwd, path, env.SIDEVAULT_PLUGINS),
    pluginConfig: settings.plugin_config ?? {},
    egress,
    rateLimits: rateLimitsOf(settings),
    tls: certificate === undefined || key === undefined ? undefined : { certificate, key },
    workers: settings.workers ?? 1,
    sandboxMemoryMb: settings.sandbox_memory_mib ?? 700,
    sandboxRequire: settings.sandbox_require ?? [],
    envoyMemoryBytes:
      (settings.envoy_memory_mib ?? Math.max(1024, 256 * (settings.workers ?? 1))) * 1024 ** 2,
    logLevel: settings.log_level ?? 'info',
    accessLog: settings.access_log === 'all' ? 'all' : 'failures',
    bodyLimit: settings.body_limit ?? 1024 * 1024,
    proxyBodyLimit: settings.proxy_body_limit ?? 8 * 1024 * 1024,
    destinationTimeoutMs: (settings.destination_timeout_seconds ?? 25) * 1000,
    cvcSeconds: settings.cvc_seconds,
    auditSync: settings.audit_sync ?? false,
    auditRetention: {
      days:
        settings.audit_retention_days === 'forever' ? 'forever' : Number(settings.audit_retention_days ?? 30),
      mib: settings.audit_retention_mib,
    },
    drainMs: (settings.drain_seconds ?? 30) * 1000,
    file: new Secret(read.content),
  }
}

/** Variable and description of each setting, for help texts. */
export const describeSettings = (): readonly { readonly variable: string; readonly description: string }[] =>
  settingNames.map((name) => ({ variable: variableOf(name), description: settingOf(name).description }))
