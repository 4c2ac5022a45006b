import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config.ts'
import { authorityCertificate, newKey, pemOf } from '../../src/forward-proxy/certificates.ts'
import { envoyOptions } from '../../src/supervisor/envoy-options.ts'
import { createAuthority } from '../kit/authority.ts'
import { directoryFor } from '../kit/directory.ts'

t.test('validated file content is used, even when the file changes later', async (t) => {
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

t.test('the authority file of the forward proxy is private, and can sign', async (t) => {
  const directory = directoryFor(t)
  const path = join(directory, 'forward.pem')
  const authority = await createAuthority()
  const server = await authority.issue(['edge.test'])
  const own = newKey()
  const pem = pemOf(await authorityCertificate(own, Date.now()))
  const key = own.export({ type: 'pkcs8', format: 'pem' }).toString()
  const start = async (text: string, mode = 0o600) => {
    writeFileSync(path, text)
    chmodSync(path, mode)
    const config = loadConfig({ SIDEVAULT_FORWARD_CA: path })
    const { listen } = config
    const rest = { role: 'all', forward: listen, ownPorts: [], demoAuthority: undefined } as const
    return envoyOptions(config, { ...rest, listen, runDir: directory, now: Date.now() })
  }
  t.notMatch(
    JSON.stringify(await start(pem + key)),
    /BEGIN CERTIFICATE|PRIVATE KEY/,
    'Envoy gets no part of it',
  )
  const wrong: readonly [string, number?][] = [
    [pem],
    [server.cert + server.key],
    [pem + server.key],
    [pem + key, 0o644],
  ]
  for (const [text, mode] of wrong) await t.rejects(start(text, mode), { message: /SIDEVAULT_FORWARD_CA/ })
})
