import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from '../kit/authority.ts'
import { startDns } from '../kit/dns.ts'
import { findEnvoy } from '../kit/envoy.ts'
import { freePort } from '../kit/sidevault.ts'
import { destinationConfig, runEnvoy } from './envoys.ts'

export interface BenchDestination {
  readonly host: string
  readonly port: number
  readonly url: string
  /** PEM file of its authority. */
  readonly authority: string
  /** A directory that ends with it. */
  readonly directory: string
  /** Settings with which Sidevault finds and trusts it. */
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/** A TLS destination with keep-alive, and a name server that resolves it. */
export const startDestination = async (): Promise<BenchDestination> => {
  const host = 'destination.bench.test'
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-bench-'))
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const authority = await createAuthority()
  const leaf = await authority.issue([host])
  const ca = file('ca.pem', authority.pem)
  const port = await freePort()
  const config = destinationConfig(port, file('cert.pem', leaf.cert), file('key.pem', leaf.key))
  const envoy = await runEnvoy(findEnvoy(), config, port)
  const dns = await startDns()
  dns.set(host, { a: ['127.0.0.1'], ttl: 60 })
  return {
    host,
    port,
    url: `https://${host}:${port}`,
    authority: ca,
    directory,
    env: {
      SIDEVAULT_EGRESS_ALLOW: '127.0.0.0/8',
      SIDEVAULT_EGRESS_PORTS: '*',
      SIDEVAULT_EGRESS_CA: ca,
      SIDEVAULT_EGRESS_DNS: `127.0.0.1:${dns.port}`,
      SIDEVAULT_LOG_LEVEL: 'warn',
    },
    stop: async () => {
      await Promise.all([envoy.stop(), dns.close()])
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
