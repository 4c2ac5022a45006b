import { readFile, stat } from 'node:fs/promises'
import { authorityError, identityErrors, signerError } from '../common/certificates.ts'
import { AppError } from '../common/errors.ts'
import { readSecretFile } from '../common/secret-file.ts'
import { shellQuote } from '../common/shell-quote.ts'
import { type SettingName, variableOf } from '../config/schema.ts'
import { type Config, ConfigError, type ConfigIssue } from '../config.ts'
import type { BootstrapOptions } from '../control-plane/options.ts'
import { writeTrustBundle } from '../egress/trust-bundle.ts'
import { DEMO_HOST } from './demo-certificate.ts'
import { type Role, socketsIn } from './messages.ts'

const issue = (name: SettingName, problem: string, fix: string): ConfigIssue => ({
  name: variableOf(name),
  message: problem,
  fix,
})

/** Empty if the file cannot be read: it may have been removed since the configuration was loaded. */
const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

const tlsOf = async (
  { tls }: Config,
  now: number,
  issues: ConfigIssue[],
): Promise<Pick<BootstrapOptions, 'tls'>> => {
  if (tls === undefined) return {}
  const [certificate, key] = await Promise.all([read(tls.certificate), read(tls.key)])
  const errors = identityErrors({ certificate, key }, now)
  if (errors.certificate !== undefined)
    issues.push(
      issue(
        'tls_cert',
        `"${tls.certificate}" ${errors.certificate}.`,
        'Name a PEM chain, the own certificate first.',
      ),
    )
  if (errors.key !== undefined)
    issues.push(issue('tls_key', `"${tls.key}" ${errors.key}.`, 'Name the private key of the certificate.'))
  return { tls: { certificate, key } }
}

/** A warning if every user of the machine can read the key of the edge's certificate. */
export const openKeyWarning = async ({ tls }: Pick<Config, 'tls'>): Promise<string | undefined> => {
  if (tls === undefined) return undefined
  const mode = (await stat(tls.key).catch(() => undefined))?.mode ?? 0
  if ((mode & 0o007) === 0) return undefined
  return `The file "${tls.key}" of ${variableOf('tls_key')} is open to all users (mode ${(mode & 0o777).toString(8)}). Run: chmod 600 ${shellQuote(tls.key)}`
}

/** Undefined without a file, and for an invalid one. */
const authoritiesOf = async (
  path: string | undefined,
  now: number,
  issues: ConfigIssue[],
): Promise<string | undefined> => {
  if (path === undefined) return undefined
  const authorities = await read(path)
  const error = authorityError(authorities, now)
  if (error === undefined) return authorities
  issues.push(issue('egress_ca', `"${path}" ${error}.`, 'Name a PEM file with valid authorities.'))
  return undefined
}

/** Bytes of the file of the forward proxy's authority. */
const MAX_SIGNER_BYTES = 65_536

/** Checks the file before the processes need it; Envoy never gets its key. */
const checkSigner = async (path: string | undefined, now: number, issues: ConfigIssue[]): Promise<void> => {
  if (path === undefined) return
  const fix = 'Name a PEM file with the certificate chain of an authority, its own first, and its key.'
  try {
    const wrong = signerError((await readSecretFile(path, MAX_SIGNER_BYTES)) ?? '', now)
    if (wrong !== undefined) issues.push(issue('forward_ca', `"${path}" ${wrong}.`, fix))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    issues.push(issue('forward_ca', error.message, fix))
  }
}

/** Files that a running service has loaded. */
export interface InUse {
  /** The file of `trustBundle`, if it need not be valid now. */
  readonly egressCa: string | undefined
  readonly trustBundle: string
  /** Reports that one of them has become invalid. */
  readonly warn: (message: string) => void
}

/**
 * The options of Envoy's configuration. Reads each file once, since it may change in between, and writes the bundle of
 * trusted authorities into `runDir`. Rejects with ConfigError, before anything is written, if a file is invalid. With
 * `inUse`, an invalid file that the service has loaded before is a warning: it must not stop a renewed edge
 * certificate.
 */
export const envoyOptions = async (
  config: Config,
  deps: {
    readonly role: Role
    readonly listen: Config['listen']
    /** Where the forward proxy listens. Its hosts come from the gateway. */
    readonly forward: Config['forwardListen']
    readonly ownPorts: readonly number[]
    readonly runDir: string
    /** PEM file of the demo destination's authority. Undefined: there is no demo destination. */
    readonly demoAuthority: string | undefined
    readonly now: number
    /** Undefined at the start. */
    readonly inUse?: InUse | undefined
  },
): Promise<BootstrapOptions> => {
  const { role, listen, forward, ownPorts, runDir, demoAuthority, now, inUse } = deps
  const issues: ConfigIssue[] = []
  const issuesInUse: ConfigIssue[] = []
  const tls = await tlsOf(config, now, issues)
  const { ca } = config.egress
  const authorities = await authoritiesOf(ca, now, inUse?.egressCa === ca ? issuesInUse : issues)
  if (config.forwardListen !== undefined)
    await checkSigner(config.forwardCa, now, inUse === undefined ? issues : issuesInUse)
  if (issues.length > 0) throw new ConfigError(issues)
  for (const { name, message, fix } of issuesInUse)
    inUse?.warn(`${name}: ${message} The service uses what it has loaded before. ${fix}`)
  const sockets = socketsIn(runDir, config.workers)
  const isInvalid = ca !== undefined && authorities === undefined
  const trustBundle =
    isInvalid && inUse !== undefined ? inUse.trustBundle : await writeTrustBundle(runDir, authorities)
  return {
    listen,
    ownPorts,
    ...tls,
    ...(forward === undefined
      ? {}
      : { forward: { listen: forward, tls: config.tls !== undefined, hosts: [] } }),
    ...(config.console && role !== 'gateway' ? { console: true } : {}),
    ...(role === 'admin' ? { proxy: false } : {}),
    gatewaySockets: sockets.gateways,
    gatewayLogSockets: sockets.logs,
    apiSocket: sockets.api,
    // Without the socket, gRPC calls end with `unimplemented`.
    ...(role === 'gateway' ? {} : { grpcSocket: sockets.grpc }),
    envoyAdminSocket: sockets.envoyAdmin,
    prefixes: config.headerPrefixes,
    egress: {
      allow: config.egress.allow,
      http: config.egress.http,
      trustBundle,
      timeoutMs: config.destinationTimeoutMs,
      ...(config.egress.resolvers.length === 0 ? {} : { resolvers: config.egress.resolvers }),
    },
    ...(demoAuthority === undefined
      ? {}
      : { demo: { socket: sockets.demo, authority: demoAuthority, host: DEMO_HOST } }),
    bodyLimit: config.proxyBodyLimit,
    accessLog: config.accessLog,
    clientAddress: config.rateLimits.perAddress !== undefined || config.rateLimits.perOrigin !== undefined,
  }
}
