import { readFile } from 'node:fs/promises'
import type { Config } from '../config.ts'
import type { BootstrapOptions } from '../control-plane/options.ts'
import { writeTrustBundle } from '../control-plane/trust.ts'
import { DEMO_HOST } from './demo-certificate.ts'
import { type Role, socketsIn } from './messages.ts'

const tlsOf = async ({ tls }: Config): Promise<Pick<BootstrapOptions, 'tls'>> => {
  if (tls === undefined) return {}
  const [certificate, key] = await Promise.all([readFile(tls.certificate, 'utf8'), readFile(tls.key, 'utf8')])
  return { tls: { certificate, key } }
}

/** What of the configuration Envoy's is made from, files read; writes the bundle of trusted authorities into `runDir`. */
export const envoyOptions = async (
  config: Config,
  deps: {
    readonly role: Role
    readonly listen: Config['listen']
    readonly runDir: string
    /** PEM file of the demo destination's authority; absent: it does not run. */
    readonly demoAuthority: string | undefined
  },
): Promise<BootstrapOptions> => {
  const { role, listen, runDir, demoAuthority } = deps
  const sockets = socketsIn(runDir, config.workers)
  const trustBundle = await writeTrustBundle(runDir, config.egress.ca)
  return {
    listen,
    ...(await tlsOf(config)),
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
    clientAddress: config.rateLimits.perAddress !== undefined,
  }
}
