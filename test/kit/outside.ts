import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from './authority.ts'
import { type Destination, startDestination } from './destination.ts'
import { startDns } from './dns.ts'
import { type Sidevault, startSidevault } from './sidevault.ts'

export interface Outside {
  readonly sidevault: Sidevault
  readonly destination: Destination
  /** URL at the destination, `https://dest.test:<port>`. */
  url(path?: string): string
}

/** The whole program, and a TLS destination `dest.test` on this machine that it may go to; both end with the test. */
export const startOutside = async (
  t: { teardown(end: () => Promise<void>): void },
  env: Readonly<Record<string, string>> = {},
): Promise<Outside> => {
  const directory = mkdtempSync(join(tmpdir(), 'sidevault-outside-'))
  const authority = await createAuthority()
  const destination = await startDestination(await authority.issue(['dest.test']))
  const dns = await startDns()
  dns.set('dest.test', { a: ['127.0.0.1'] })
  writeFileSync(join(directory, 'ca.pem'), authority.pem)
  const sidevault = await startSidevault({
    env: {
      SIDEVAULT_EGRESS_ALLOW: '127.0.0.0/8',
      SIDEVAULT_EGRESS_PORTS: '*',
      SIDEVAULT_EGRESS_CA: join(directory, 'ca.pem'),
      SIDEVAULT_EGRESS_DNS: `127.0.0.1:${dns.port}`,
      ...env,
    },
  })
  t.teardown(async () => {
    await sidevault.stop()
    await Promise.all([destination.close(), dns.close()])
    rmSync(directory, { recursive: true, force: true })
  })
  return { sidevault, destination, url: (path = '') => `https://dest.test:${destination.port}${path}` }
}
