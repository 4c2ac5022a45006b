import type { Static } from 'typebox'
import { Type } from '../common/json-schema.ts'

const list = (description: string) => Type.Array(Type.String({ minLength: 1 }), { description })

const RATE_LIMIT = '^(none|0|[1-9][0-9]{0,7})$'

/** Placeholder of a secret in a printed configuration; rejected as a value. */
export const HIDDEN = '[secret]'

/**
 * All settings, as members of a configuration file. The variable of a member is `SIDEVAULT_` and its name in capitals.
 * In a variable, a list is separated by commas and an object is JSON. `secret`: never printed.
 */
export const settingsSchema = Type.Partial(
  Type.Object({
    listen: Type.String({ description: 'Address and port of the edge, e.g. 127.0.0.1:8080 or [::1]:8080.' }),
    api_listen: Type.String({
      description:
        'Address and port on which the admin process serves the management API itself, without Envoy, e.g. 127.0.0.1:8081. Beyond loopback only with tls_cert and tls_key. With the role admin there is then no edge and no gRPC.',
    }),
    ops_listen: Type.String({
      description:
        'Address and port of a listener for operators, e.g. 127.0.0.1:9090: /healthz, /readyz, /metrics and /docs are served there, and are 404 everywhere else. With the certificate of the edge when there is one, else plain HTTP: nothing there needs a key.',
    }),
    forward_listen: Type.String({
      description:
        'Address and port of the forward proxy (HTTPS_PROXY), e.g. 127.0.0.1:8090. Beyond loopback only with tls_cert and tls_key. Unset: there is none.',
    }),
    forward_ca: Type.String({
      minLength: 1,
      description:
        'PEM file with the certificate chain and the key (EC or RSA, mode 0600) of the authority that signs certificates for intercepted hosts. Unset: one made at first use, its key sealed in the store.',
    }),
    console: Type.Boolean({
      description:
        'Serve the console at /console/: true or false. Unset: true while all listeners are on loopback. Not with the role gateway.',
    }),
    data_dir: Type.String({
      minLength: 1,
      description: 'Directory of database, key file, audit journal and sockets (mode 0700).',
    }),
    bootstrap_key: Type.String({
      pattern: '^[!-~]{24,200}$',
      secret: true,
      description:
        'Key of the first management application: 24–200 printable characters without spaces. Unset: generated at the first start.',
    }),
    header_prefixes: list('Header prefixes, the first one canonical, e.g. SVC.'),
    store: Type.String({
      secret: true,
      description:
        'sqlite, a file in the data directory, or postgres://user:password@host/database (15 or later), which replicas share.',
    }),
    store_connections: Type.Integer({
      minimum: 2,
      maximum: 500,
      description:
        'Connections to PostgreSQL for requests of each process, 2 to 500. Each process holds up to two more.',
    }),
    store_timeout_seconds: Type.Integer({
      minimum: 1,
      maximum: 300,
      description: 'Seconds that PostgreSQL may take for one statement, 1 to 300.',
    }),
    store_lock_timeout_seconds: Type.Integer({
      minimum: 1,
      maximum: 300,
      description: 'Seconds that a statement may wait for a lock of another transaction, 1 to 300.',
    }),
    store_connect_timeout_seconds: Type.Integer({
      minimum: 1,
      maximum: 60,
      description: 'Seconds to get a connection to PostgreSQL, free or new, 1 to 60.',
    }),
    redis_url: Type.String({
      secret: true,
      description:
        'Redis (6 or later) that replicas share for rate limits: redis[s]://[[user]:password@]host[:port][/database].',
    }),
    root_key: Type.String({
      pattern: '^[a-z][a-z0-9-]*:[\\s\\S]+$',
      secret: true,
      description:
        'Source of the root key: file:<path>, env:<variable>, passphrase:<text> or <plugin>:…. Unset: a key file in the data directory, made at the first start.',
    }),
    delegated_key: Type.String({
      pattern: '^(file|env):[\\s\\S]+$',
      secret: true,
      description:
        'Source of a delegated key: file:<path> or env:<variable>. With it, "start --role gateway --tenant <id>" needs no root key and opens one tenant.',
    }),
    plugins: list('List: * (every folder of plugins/), folders, npm names, JSON files.'),
    plugin_config: Type.Record(Type.String(), Type.Unknown(), {
      secret: true,
      description:
        'Configuration of plugins: an object by plugin name; of a key provider by its scheme with a colon, e.g. "transit:".',
    }),
    egress_allow: list('Private CIDR blocks that destinations may resolve to, e.g. 10.1.0.0/16.'),
    egress_ports: list('Ports of destinations, e.g. 443,8443, or * for all.'),
    egress_http: Type.Boolean({ description: 'Allow http:// destinations: true or false.' }),
    egress_ca: Type.String({
      minLength: 1,
      description: 'PEM file with more authorities trusted for destinations.',
    }),
    egress_dns: list('Name servers for destinations, e.g. 10.0.0.2:53. Unset: those of the system.'),
    tls_cert: Type.String({
      minLength: 1,
      description: 'PEM file with the certificate chain of the edge. Unset: plain HTTP, on loopback only.',
    }),
    tls_key: Type.String({ minLength: 1, description: 'PEM file with the private key of the edge.' }),
    insecure_listen: Type.Boolean({
      description: 'Allow plain HTTP beyond loopback, behind a proxy that terminates TLS: true or false.',
    }),
    workers: Type.Integer({ minimum: 1, maximum: 64, description: 'Gateway processes, 1 to 64.' }),
    sandbox_memory_mib: Type.Integer({
      minimum: 700,
      maximum: 65_536,
      description:
        'Memory of the sandbox of each service process in MiB, 700 to 65536. One child process for each 350 MiB.',
    }),
    sandbox_require: Type.Array(Type.String({ pattern: '^(uid|network|syscalls|files|tenant)$' }), {
      description:
        'Required confinement of the sandbox: uid, network, syscalls, files; tenant (no process runs code of two tenants). The service does not start without it.',
    }),
    envoy_memory_mib: Type.Integer({
      minimum: 256,
      maximum: 16_384,
      description:
        'Memory of Envoy in MiB, 256 to 16384. Tenants share three quarters of it. Unset: 1024, or 256 for each worker when that is more.',
    }),
    log_level: Type.String({
      pattern: '^(trace|debug|info|warn|error|fatal)$',
      description: 'trace, debug, info, warn, error or fatal.',
    }),
    access_log: Type.String({
      pattern: '^(failures|all)$',
      description: 'Requests that Envoy logs: failures or all.',
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
    destination_timeout_seconds: Type.Integer({
      minimum: 1,
      maximum: 600,
      description:
        "Seconds until a destination's response starts, 1 to 600. With a response transform: again until the response is complete.",
    }),
    cvc_seconds: Type.Integer({
      minimum: 1,
      maximum: 86_400,
      description: "Seconds that a card's cvc is stored, 1 to 86400. Unset: 3600.",
    }),
    rate_limit_per_key: Type.String({
      pattern: RATE_LIMIT,
      description: 'Calls a minute with one API key, up to 99999999; 0 or none: no limit.',
    }),
    rate_limit_per_address: Type.String({
      pattern: RATE_LIMIT,
      description: 'Calls a minute from one address (IPv6: one /64), up to 99999999; 0 or none: no limit.',
    }),
    rate_limit_per_origin: Type.String({
      pattern: RATE_LIMIT,
      description:
        'Calls a minute by pages of one origin at one address (IPv6: one /64), up to 99999999; 0 or none: no limit.',
    }),
    rate_limit_guesses: Type.String({
      pattern: RATE_LIMIT,
      description:
        'Searches for values of data a minute, by a key that cannot see the data, up to 99999999; each value of a query counts. 0 or none: no limit.',
    }),
    audit_sync: Type.Boolean({
      description: 'Sync every audit record to disk before a disclosure: true or false.',
    }),
    audit_retention_days: Type.String({
      pattern: '^(forever|0|[1-9][0-9]{0,3})$',
      description:
        'Days to retain audit journal files once the store has their records, 0 to 9999, or forever.',
    }),
    audit_retention_mib: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      description:
        'MiB of audit journal files to retain, 0 to 1000000000; the oldest go first. Unset: 10240, at most a quarter of the disk; no limit with audit_retention_days forever.',
    }),
    drain_seconds: Type.Integer({
      minimum: 0,
      maximum: 600,
      description: 'Seconds that requests in flight get when stopping, 0 to 600.',
    }),
  }),
)

export type Settings = Static<typeof settingsSchema>
export type SettingName = keyof Settings

export const settingNames = Object.keys(settingsSchema.properties) as readonly SettingName[]

export const variableOf = (name: string): string => `SIDEVAULT_${name.toUpperCase()}`

/** Type, description and secrecy of one setting. */
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
