import type { FileContent } from './read.ts'
import { type SettingName, settingNames, variableOf } from './schema.ts'

/** Settings that a running service applies on reload. All others need a restart. */
const LIVE: ReadonlySet<string> = new Set<SettingName>([
  'egress_allow',
  'egress_ports',
  'egress_http',
  'egress_ca',
  'egress_dns',
  'tls_cert',
  'tls_key',
  'access_log',
  'proxy_body_limit',
  'destination_timeout_seconds',
  'rate_limit_per_key',
  'rate_limit_per_address',
  'rate_limit_per_origin',
  'rate_limit_guesses',
  'audit_retention_days',
  'audit_retention_mib',
  'drain_seconds',
])

interface LiveChanges {
  /** Effective content: `before` with the reloadable settings of `after`. */
  readonly content: FileContent
  /** Changed settings that are applied. */
  readonly applied: readonly SettingName[]
  /** Changed settings that need a restart. */
  readonly waiting: readonly SettingName[]
}

/** Another certificate is applied. Turning TLS on or off is not: only Envoy's listeners could do it while they run. */
const TLS: ReadonlySet<string> = new Set<SettingName>(['tls_cert', 'tls_key'])

const hasTls = (content: FileContent, env: NodeJS.ProcessEnv): boolean =>
  Boolean(env[variableOf('tls_cert')] || content.tls_cert)

/** Compares two contents of the configuration file. Settings from the environment are not the file's. */
export const liveChanges = (before: FileContent, after: FileContent, env: NodeJS.ProcessEnv): LiveChanges => {
  const changed = settingNames.filter(
    (name) => !env[variableOf(name)] && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  const switchesTls = hasTls(before, env) !== hasTls(after, env)
  const isLive = (name: SettingName) => LIVE.has(name) && !(switchesTls && TLS.has(name))
  const content = { ...before }
  for (const name of changed.filter(isLive)) {
    if (after[name] === undefined) delete content[name]
    else content[name] = after[name]
  }
  return {
    content,
    applied: changed.filter(isLive),
    waiting: changed.filter((name) => !isLive(name)),
  }
}
