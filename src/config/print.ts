import type { Config } from '../config.ts'
import { HIDDEN, type SettingName } from './schema.ts'
import { yaml } from './yaml.ts'

const hidden = (value: unknown): string | undefined => (value === undefined ? undefined : HIDDEN)

const place = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`

/** All effective settings with defaults, as members of a configuration file, without secrets. */
export const shownSettings = (config: Config): { readonly [N in SettingName]-?: unknown } => {
  const {
    listen,
    apiListen,
    opsListen,
    forwardListen,
    loopback,
    egress,
    storeLimits,
    rateLimits,
    tls,
    auditRetention,
  } = config
  return {
    listen: place(listen.host, listen.port),
    api_listen: apiListen && place(apiListen.host, apiListen.port),
    ops_listen: opsListen && place(opsListen.host, opsListen.port),
    forward_listen: forwardListen && place(forwardListen.host, forwardListen.port),
    forward_ca: config.forwardCa,
    console: config.console,
    data_dir: config.dataDir,
    bootstrap_key: hidden(config.bootstrapKey),
    header_prefixes: config.headerPrefixes,
    store: hidden(config.postgres) ?? 'sqlite',
    store_connections: storeLimits.connections,
    store_timeout_seconds: storeLimits.statementMs / 1000,
    store_lock_timeout_seconds: storeLimits.lockMs / 1000,
    store_connect_timeout_seconds: storeLimits.connectMs / 1000,
    redis_url: hidden(config.redisUrl),
    root_key: hidden(config.rootKeySource),
    delegated_key: hidden(config.delegatedKeySource),
    plugins: config.plugins,
    plugin_config: Object.fromEntries(Object.keys(config.pluginConfig).map((name) => [name, HIDDEN])),
    egress_allow: egress.allow,
    egress_ports: egress.ports === '*' ? ['*'] : egress.ports.map(String),
    egress_http: egress.http,
    egress_ca: egress.ca,
    egress_dns: egress.resolvers.map(({ address, port }) => place(address, port)),
    tls_cert: tls?.certificate,
    tls_key: tls?.key,
    insecure_listen: !loopback && tls === undefined,
    workers: config.workers,
    sandbox_memory_mib: config.sandboxMemoryMb,
    sandbox_require: config.sandboxRequire,
    envoy_memory_mib: config.envoyMemoryBytes / 1024 / 1024,
    log_level: config.logLevel,
    access_log: config.accessLog,
    body_limit: config.bodyLimit,
    proxy_body_limit: config.proxyBodyLimit,
    destination_timeout_seconds: config.destinationTimeoutMs / 1000,
    cvc_seconds: config.cvcSeconds,
    rate_limit_per_key: rateLimits.perKey ?? 'none',
    rate_limit_per_address: rateLimits.perAddress ?? 'none',
    rate_limit_per_origin: rateLimits.perOrigin ?? 'none',
    rate_limit_guesses: rateLimits.guesses ?? 'none',
    audit_sync: config.auditSync,
    audit_retention_days: auditRetention.days,
    audit_retention_mib: auditRetention.mib,
    drain_seconds: config.drainMs / 1000,
  }
}

/**
 * The configuration as YAML. Secrets and plugins' configurations print as `[secret]`; without them, the text loads as
 * the same configuration.
 */
export const printConfig = (config: Config): string => {
  const set = Object.entries(shownSettings(config)).filter(([, value]) => value !== undefined)
  return yaml().stringify(Object.fromEntries(set))
}
