import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from './authority.ts'
import { type Destination, startDestination } from './destination.ts'
import { startDns } from './dns.ts'
import { atProcessEnd } from './process-end.ts'
import { type SharedSidevault, sharedSidevault } from './shared-sidevault.ts'

export interface Outside {
  readonly sidevault: SharedSidevault
  readonly destination: Destination
  /** URL at the destination, `https://dest.test:<port>`. */
  url(path?: string): string
}

/** Names of the destination; tests of where a value may go need several. */
const NAMES = ['dest.test', 'other.test', 'api.dest.test', 'v2.api.dest.test']

const start = async (env: Readonly<Record<string, string>>) => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-outside-'))
  const authority = await createAuthority()
  const destination = await startDestination(await authority.issue(NAMES))
  const dns = await startDns()
  for (const name of NAMES) dns.set(name, { a: ['127.0.0.1'] })
  writeFileSync(join(directory, 'ca.pem'), authority.pem)
  atProcessEnd(async () => {
    await Promise.all([destination.close(), dns.close()])
    rmSync(directory, { recursive: true, force: true })
  })
  return {
    destination,
    settings: {
      SIDEVAULT_EGRESS_ALLOW: '127.0.0.0/8',
      SIDEVAULT_EGRESS_PORTS: '*',
      SIDEVAULT_EGRESS_CA: join(directory, 'ca.pem'),
      SIDEVAULT_EGRESS_DNS: `127.0.0.1:${dns.port}`,
      ...env,
    },
  }
}

const started = new Map<string, ReturnType<typeof start>>()

/**
 * A tenant of the whole program, and a TLS destination `dest.test` on this machine that it may go to. Test files of this
 * process with the same settings share both.
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
