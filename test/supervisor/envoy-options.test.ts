import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { envoyOptions } from '../../src/supervisor/envoy-options.ts'
import { createAuthority } from '../kit/authority.ts'
import { directoryFor } from '../kit/directory.ts'

t.test('what was found good in a file is what is used, whatever the file holds by then', async (t) => {
  const directory = directoryFor(t)
  const path = (name: string) => join(directory, name)
  const authority = await createAuthority()
  const identity = await authority.issue(['edge.test'])
  for (const name of ['ca.pem', 'cert.pem', 'key.pem']) writeFileSync(path(name), '')
  const config = loadConfig({
    SIDEVAULT_EGRESS_CA: path('ca.pem'),
    SIDEVAULT_TLS_CERT: path('cert.pem'),
    SIDEVAULT_TLS_KEY: path('key.pem'),
  })
  // Pipes give what they hold to the first reader, and nothing to a second one.
  const pipes = { 'ca.pem': authority.pem, 'cert.pem': identity.cert, 'key.pem': identity.key }
  const given = Object.entries(pipes).map(async ([name, text]) => {
    execFileSync('rm', [path(name)])
    execFileSync('mkfifo', [path(name)])
    await writeFile(path(name), text)
  })
  const { tls, egress } = await envoyOptions(config, {
    role: 'all',
    listen: config.listen,
    forward: undefined,
    ownPorts: [config.listen.port],
    runDir: directory,
    demoAuthority: undefined,
    now: Date.now(),
  })
  await Promise.all(given)
  t.same(tls, { certificate: identity.cert, key: identity.key })
  t.ok(readFileSync(egress.trustBundle, 'utf8').includes(authority.pem.trim()))
})
