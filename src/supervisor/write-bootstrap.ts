import { writeFile } from 'node:fs/promises'
import type { Config } from '../config.ts'
import { renderBootstrap } from '../control-plane/bootstrap.ts'
import { writeTrustBundle } from '../control-plane/trust.ts'
import { DEMO_HOST } from './demo-certificate.ts'
import { socketsIn } from './messages.ts'

/** Writes Envoy's bootstrap and the bundle of trusted authorities into `runDir`; the path of the bootstrap. */
export const writeBootstrap = async (
  config: Config,
  deps: {
    readonly listen: Config['listen']
    readonly runDir: string
    /** PEM file of the demo destination's authority; absent: it does not run. */
    readonly demoAuthority: string | undefined
  },
): Promise<string> => {
  const { listen, runDir, demoAuthority } = deps
  const sockets = socketsIn(runDir, config.workers)
  const trustBundle = `${runDir}/trust.pem`
  await writeTrustBundle(trustBundle, config.egress.ca)
  const bootstrap = renderBootstrap({
    listen,
    ...(config.tls === undefined ? {} : { tls: config.tls }),
    gatewaySockets: sockets.gateways,
    apiSocket: sockets.api,
    grpcSocket: sockets.grpc,
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
  })
  const file = `${runDir}/envoy.json`
  await writeFile(file, JSON.stringify(bootstrap), { mode: 0o600 })
  return file
}
