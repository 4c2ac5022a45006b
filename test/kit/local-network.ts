import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAuthority } from './authority.ts'
import { directoryFor, type Owner } from './directory.ts'
import { startDns } from './dns.ts'

/**
 * Names of this machine by which a service reaches TLS destinations: a name server that knows them, a certificate of a
 * private authority for all of them, and the settings of a service that may go there.
 */
export const startLocalNetwork = async (t: Owner, names: readonly [string, ...string[]]) => {
  const ca = join(directoryFor(t), 'ca.pem')
  const authority = await createAuthority()
  writeFileSync(ca, authority.pem)
  const dns = await startDns()
  t.teardown(() => dns.close())
  for (const name of names) dns.set(name, { a: ['127.0.0.1'], ttl: 60 })
  return {
    dns,
    authority,
    certificate: await authority.issue([...names]),
    env: {
      SIDEVAULT_EGRESS_ALLOW: '127.0.0.0/8',
      SIDEVAULT_EGRESS_PORTS: '*',
      SIDEVAULT_EGRESS_CA: ca,
      SIDEVAULT_EGRESS_DNS: `127.0.0.1:${dns.port}`,
    },
  }
}
