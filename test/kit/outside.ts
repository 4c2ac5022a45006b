import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Authority, type Certificate, createAuthority } from './authority.ts'
import { type Destination, startDestination } from './destination.ts'
import { directoryFor } from './directory.ts'
import { startLocalNetwork } from './local-network.ts'
import { atProcessEnd } from './process-end.ts'
import { type SharedSidevault, sharedSidevault } from './shared-sidevault.ts'
import { freePort } from './sidevault.ts'

/** What test files of one process share: each starts once. */
interface World {
  readonly destination: Destination
  /** Port of the forward proxy. */
  readonly forward: number
  /** The authority of the forward proxy's certificates, its setting SIDEVAULT_FORWARD_CA. */
  readonly forwardAuthority: Authority
  /** The authority of destinations. */
  readonly authority: Authority
  /** A certificate for names, which are this machine's from now on. */
  nameLocally(...names: readonly string[]): Promise<Certificate>
}

interface Outside extends World {
  readonly sidevault: SharedSidevault
  /** URL at the destination, `https://dest.test:<port>`. */
  url(path?: string): string
}

/** Names of the destination; tests of where a value may go need several. */
const NAMES = ['dest.test', 'other.test', 'api.dest.test', 'v2.api.dest.test'] as const

const start = async (): Promise<World & { readonly settings: Readonly<Record<string, string>> }> => {
  const owner = { teardown: atProcessEnd }
  const { certificate, dns, authority, env } = await startLocalNetwork(owner, NAMES)
  const destination = await startDestination(certificate)
  atProcessEnd(() => destination.close())
  const [forward, forwardAuthority] = [await freePort(), await createAuthority('Forward proxy')]
  const file = join(directoryFor(owner), 'forward.pem')
  writeFileSync(file, forwardAuthority.pem + forwardAuthority.key, { mode: 0o600 })
  return {
    destination,
    forward,
    forwardAuthority,
    authority,
    nameLocally: (...names) => {
      for (const name of names) dns.set(name, { a: ['127.0.0.1'], ttl: 60 })
      return authority.issue(names)
    },
    settings: {
      ...env,
      SIDEVAULT_HEADER_PREFIXES: 'SVC,BT',
      SIDEVAULT_FORWARD_LISTEN: `127.0.0.1:${forward}`,
      SIDEVAULT_FORWARD_CA: file,
      // An interrupted invocation of a reactor fails after three seconds.
      SIDEVAULT_PLUGIN_CONFIG: JSON.stringify({ reactors: { async_lease: 3 } }),
    },
  }
}

let started: ReturnType<typeof start> | undefined

/**
 * A tenant of a whole program that serves two header prefixes and a forward proxy, and a TLS destination `dest.test` on
 * this machine that it may go to. Test files of this process share both.
 */
export const startOutside = async (): Promise<Outside> => {
  started ??= start()
  const { settings, ...world } = await started
  const sidevault = await sharedSidevault(settings)
  world.destination.received.length = 0
  return { ...world, sidevault, url: (path = '') => `https://dest.test:${world.destination.port}${path}` }
}
