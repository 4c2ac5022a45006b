import { type Destination, startDestination } from './destination.ts'
import { startLocalNetwork } from './local-network.ts'
import { atProcessEnd } from './process-end.ts'
import { type SharedSidevault, sharedSidevault } from './shared-sidevault.ts'

interface Outside {
  readonly sidevault: SharedSidevault
  readonly destination: Destination
  /** URL at the destination, `https://dest.test:<port>`. */
  url(path?: string): string
}

/** Names of the destination; tests of where a value may go need several. */
const NAMES = ['dest.test', 'other.test', 'api.dest.test', 'v2.api.dest.test'] as const

const start = async (env: Readonly<Record<string, string>>) => {
  const { certificate, ...network } = await startLocalNetwork({ teardown: atProcessEnd }, NAMES)
  const destination = await startDestination(certificate)
  atProcessEnd(() => destination.close())
  return { destination, settings: { ...network.env, ...env } }
}

const started = new Map<string, ReturnType<typeof start>>()

/**
 * A tenant of the whole program, and a TLS destination `dest.test` on this machine that it may go to. Test files of
 * this process with the same settings share both.
 */
export const startOutside = async (env: Readonly<Record<string, string>> = {}): Promise<Outside> => {
  const name = JSON.stringify(env)
  const starting = started.get(name) ?? start(env)
  started.set(name, starting)
  const { destination, settings } = await starting
  const sidevault = await sharedSidevault(settings)
  destination.received.length = 0
  return { sidevault, destination, url: (path = '') => `https://dest.test:${destination.port}${path}` }
}
