import { type Static, Type } from 'typebox'

const list = (description: string) => Type.Array(Type.String({ minLength: 1 }), { description })

const RATE_LIMIT = '^(none|0|[1-9][0-9]{0,7})$'

/** Stands for a secret where a configuration is printed, and is refused where one is read. */
export const HIDDEN = '[secret]'

/**
 * Every setting as a configuration file holds it. The variable of a member is `SIDEVAULT_` and its name in capitals;
 * in a variable a list is separated by commas and an object is JSON. `secret`: never printed.
 */
export const settingsSchema = Type.Partial(
  Type.Object({
    listen: Type.String({ description: 'Address of the edge, e.g. 127.0.0.1:8080 or [::1]:8080.' }),
    data_dir: Type.String({ minLength: 1, description: 'Database, key file, audit journal, sockets.' }),
    bootstrap_key: Type.String({
      pattern: '^[!-~]{24,200}$',
      secret: true,
      description: 'Key of the first management application: 24–200 printable characters without spaces.',
    }),
    header_prefixes: list('Header brands, the first one canonical, e.g. SVC.'),
    store: Type.String({
      secret: true,
      description: 'sqlite, a file in the data directory, or postgres://user:password@host/database.',
    }),
    store_connections: Type.Integer({
      minimum: 2,
      maximum: 500,
      description: 'Connections to PostgreSQL that each process may hold, 2 to 500.',
    }),
    store_timeout: Type.Integer({
      minimum: 1,
      maximum: 300,
      description: 'Seconds PostgreSQL may take for one statement, 1 to 300.',
    }),
    store_lock_timeout: Type.Integer({
      minimum: 1,
      maximum: 300,
      description: "Seconds a statement may wait for another transaction's lock, 1 to 300.",
    }),
    store_connect_timeout: Type.Integer({
      minimum: 1,
      maximum: 60,
      description: 'Seconds a connection to PostgreSQL may take, or the wait for a free one, 1 to 60.',
    }),
    redis_url: Type.String({
      secret: true,
      description:
        'Redis that replicas share: redis[s]://[[user]:password@]host[:port][/database]; unset: none.',
    }),
    master_key: Type.String({
      pattern: '^[a-z][a-z0-9-]*:[^]+$',
      secret: true,
      description:
        'Where the root key comes from: file:<path>, env:<variable>, passphrase:<text> or <plugin>:….',
    }),
    plugins: list('"*" for every folder of plugins/, folders, npm names, JSON files.'),
    plugin_config: Type.Record(Type.String(), Type.Unknown(), {
      secret: true,
      description: 'Configuration of plugins, an object by plugin name.',
    }),
    egress_allow: list('Private CIDR blocks that destinations may resolve to, e.g. 10.1.0.0/16.'),
    egress_ports: list('Ports of destinations, e.g. 443,8443, or * for all.'),
    egress_http: Type.Boolean({ description: 'Whether http:// destinations are allowed: true or false.' }),
    egress_ca: Type.String({
      minLength: 1,
      description: 'PEM file with authorities trusted for destinations.',
    }),
    egress_dns: list('Name servers for destinations instead of the system ones, e.g. 10.0.0.2:53.'),
    tls_cert: Type.String({ minLength: 1, description: 'PEM file with the certificate chain of the edge.' }),
    tls_key: Type.String({ minLength: 1, description: 'PEM file with the private key of the edge.' }),
    insecure_listen: Type.Boolean({ description: 'Plain HTTP beyond loopback: true or false.' }),
    workers: Type.Integer({ minimum: 1, maximum: 64, description: 'Gateway processes, 1 to 64.' }),
    warm_contexts: Type.Boolean({
      description:
        'Calls of the same transform or formula may share a context, and the variables of its module: true or false.',
    }),
    sandbox_memory: Type.Integer({
      minimum: 700,
      maximum: 65_536,
      description: 'MiB that all processes of one sandbox may hold, 350 for each of them, 700 to 65536.',
    }),
    sandbox_require: Type.Array(Type.String({ pattern: '^(uid|network|syscalls|files|tenant)$' }), {
      description:
        'Confinement of the processes that run transforms and formulas without which nothing starts: uid, network, syscalls, files; tenant: no process runs code of two tenants.',
    }),
    envoy_memory: Type.Integer({
      minimum: 256,
      maximum: 16_384,
      description: 'MiB that Envoy may hold, three quarters of them for calls, 256 to 16384.',
    }),
    log_level: Type.String({
      pattern: '^(trace|debug|info|warn|error|fatal)$',
      description: 'trace, debug, info, warn, error or fatal.',
    }),
    access_log: Type.String({
      pattern: '^(failures|all)$',
      description: 'Which requests Envoy writes a line about: failures (default) or all.',
    }),
    body_limit: Type.Integer({
      minimum: 1024,
      maximum: 64 * 1024 * 1024,
      description: 'Bytes of a management request body, 1024 to 67108864.',
    }),
    proxy_body_limit: Type.Integer({
      minimum: 1024,
      maximum: 64 * 1024 * 1024,
      description: 'Bytes of a proxied request body, 1024 to 67108864.',
    }),
    destination_timeout: Type.Integer({
      minimum: 1,
      maximum: 600,
      description:
        'Seconds a destination may take to begin its answer, and again to end one that a transform needs whole, 1 to 600.',
    }),
    cvc_seconds: Type.Integer({
      minimum: 1,
      maximum: 86_400,
      description: "Seconds a card's cvc is kept, 1 to 86400.",
    }),
    rate_limit_key: Type.String({
      pattern: RATE_LIMIT,
      description: 'Calls a minute with one API key, up to 99999999; 0 or none: any number.',
    }),
    rate_limit_address: Type.String({
      pattern: RATE_LIMIT,
      description: 'Calls a minute from one address (IPv6: one /64), up to 99999999; 0 or none: any number.',
    }),
    rate_limit_guesses: Type.String({
      pattern: RATE_LIMIT,
      description:
        'Values of data a minute that a key searches for without seeing the data, up to 99999999; 0 or none: any number.',
    }),
    audit_sync: Type.Boolean({
      description: 'Sync every audit record to disk before a disclosure: true or false.',
    }),
    audit_keep_days: Type.String({
      pattern: '^(forever|0|[1-9][0-9]{0,3})$',
      description:
        'Days that files of the audit journal stay once the store has their records, 0 to 9999, or forever.',
    }),
    audit_keep_mb: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      description:
        'MiB that files of the audit journal may take before the oldest go sooner, 0 to 1000000000.',
    }),
    drain_seconds: Type.Integer({
      minimum: 0,
      maximum: 600,
      description: 'Seconds that requests in flight get to end when stopping, 0 to 600.',
    }),
  }),
)

export type Settings = Static<typeof settingsSchema>
export type SettingName = keyof Settings

export const settingNames = Object.keys(settingsSchema.properties) as readonly SettingName[]

export const variableOf = (name: string): string => `SIDEVAULT_${name.toUpperCase()}`

/** What the schema says of one setting. */
export const settingOf = (
  name: SettingName,
): { readonly type: string; readonly description: string; readonly secret: boolean } => {
  const schema: { readonly type?: string; readonly description?: string; readonly secret?: boolean } =
    settingsSchema.properties[name]
  return {
    type: schema.type ?? 'string',
    description: schema.description ?? '',
    secret: schema.secret ?? false,
  }
}
