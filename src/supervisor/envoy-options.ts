import { readFile } from 'node:fs/promises'
import { authorityFault, identityFaults } from '../common/certificates.ts'
import { type SettingName, variableOf } from '../config/schema.ts'
import { type Config, ConfigError, type ConfigFault } from '../config.ts'
import type { BootstrapOptions } from '../control-plane/options.ts'
import { writeTrustBundle } from '../control-plane/trust.ts'
import { DEMO_HOST } from './demo-certificate.ts'
import { type Role, socketsIn } from './messages.ts'

const fault = (name: SettingName, problem: string, remedy: string): ConfigFault => ({
  name: variableOf(name),
  problem,
  remedy,
})

/** A file that was there a moment ago may be gone, or be written anew. */
const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

const tlsOf = async (
  { tls }: Config,
  now: number,
  faults: ConfigFault[],
): Promise<Pick<BootstrapOptions, 'tls'>> => {
  if (tls === undefined) return {}
  const [certificate, key] = await Promise.all([read(tls.certificate), read(tls.key)])
  const wrong = identityFaults({ certificate, key }, now)
  if (wrong.certificate !== undefined)
    faults.push(
      fault(
        'tls_cert',
        `"${tls.certificate}" ${wrong.certificate}.`,
        'Name a PEM chain, the own certificate first.',
      ),
    )
  if (wrong.key !== undefined)
    faults.push(
      fault('tls_key', `"${tls.key}" ${wrong.key}.`, 'Name the key that the certificate was made for.'),
    )
  return { tls: { certificate, key } }
}

const authoritiesOf = async (
  path: string | undefined,
  now: number,
  faults: ConfigFault[],
): Promise<string | undefined> => {
  if (path === undefined) return undefined
  const authorities = await read(path)
  const wrong = authorityFault(authorities, now)
  if (wrong !== undefined)
    faults.push(fault('egress_ca', `"${path}" ${wrong}.`, 'Name a PEM file with valid authorities.'))
  return authorities
}

/**
 * What of the configuration Envoy's is made from, each file read once, since it may hold something else by the next time;
 * writes the bundle of trusted authorities into `runDir`.
 * Rejects with ConfigError, before anything is written, when a file does not hold what it should.
 */
export const envoyOptions = async (
  config: Config,
  deps: {
    readonly role: Role
    readonly listen: Config['listen']
    readonly runDir: string
    /** PEM file of the demo destination's authority; absent: it does not run. */
    readonly demoAuthority: string | undefined
    readonly now: number
  },
): Promise<BootstrapOptions> => {
  const { role, listen, runDir, demoAuthority, now } = deps
  const faults: ConfigFault[] = []
  const tls = await tlsOf(config, now, faults)
  const authorities = await authoritiesOf(config.egress.ca, now, faults)
  if (faults.length > 0) throw new ConfigError(faults)
  const sockets = socketsIn(runDir, config.workers)
  const trustBundle = await writeTrustBundle(runDir, authorities)
  return {
    listen,
    ...tls,
    gatewaySockets: sockets.gateways,
    apiSocket: sockets.api,
    // Without it a call over gRPC finds what one over HTTP finds: nothing, which gRPC calls unimplemented.
    ...(role === 'gateway' ? {} : { grpcSocket: sockets.grpc }),
    envoyAdminSocket: sockets.envoyAdmin,
    brands: config.headerPrefixes,
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
    clientAddress: config.rateLimits.perAddress !== undefined,
  }
}
