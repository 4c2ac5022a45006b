import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { type Config, loadConfig } from '../../src/config.ts'
import { authorityCertificate, newKey, pemOf } from '../../src/forward-proxy/certificates.ts'
import { envoyOptions } from '../../src/supervisor/envoy-options.ts'
import { createAuthority } from '../kit/authority.ts'
import { directoryFor } from '../kit/directory.ts'

const startOf = ({ listen }: Config) =>
  ({
    role: 'all',
    listen,
    forward: undefined,
    ownPorts: [],
    demoAuthority: undefined,
    now: Date.now(),
  }) as const

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
  const writes = Object.entries(pipes).map(async ([name, text]) => {
    execFileSync('rm', [path(name)])
    execFileSync('mkfifo', [path(name)])
    await writeFile(path(name), text)
  })
  const { tls, egress } = await envoyOptions(config, { ...startOf(config), runDir: directory })
  await Promise.all(writes)
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
    const config = loadConfig({ SIDEVAULT_FORWARD_CA: path, SIDEVAULT_FORWARD_LISTEN: '127.0.0.1:0' })
    return envoyOptions(config, { ...startOf(config), runDir: directory, forward: config.forwardListen })
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

t.test('an authority that became invalid does not stop a renewed edge certificate', async (t) => {
  const runDir = directoryFor(t)
  const path = (name: string) => join(runDir, name)
  const authority = await createAuthority()
  const identity = await authority.issue(['edge.test'])
  const own = newKey()
  const signer =
    pemOf(await authorityCertificate(own, Date.now())) + own.export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(path('cert.pem'), identity.cert)
  writeFileSync(path('key.pem'), identity.key)
  writeFileSync(path('ca.pem'), authority.pem)
  writeFileSync(path('signer.pem'), signer, { mode: 0o600 })
  const env = {
    SIDEVAULT_TLS_CERT: path('cert.pem'),
    SIDEVAULT_TLS_KEY: path('key.pem'),
    SIDEVAULT_EGRESS_CA: path('ca.pem'),
    SIDEVAULT_FORWARD_CA: path('signer.pem'),
  }
  const config = loadConfig({ ...env, SIDEVAULT_FORWARD_LISTEN: '127.0.0.1:0' })
  const { trustBundle } = (await envoyOptions(config, { ...startOf(config), runDir })).egress

  for (const name of ['ca.pem', 'signer.pem']) writeFileSync(path(name), 'damaged')
  const warnings: string[] = []
  const inUse = {
    egressCa: config.egress.ca,
    trustBundle,
    warn: (message: string) => void warnings.push(message),
  }
  const renewed = await envoyOptions(config, { ...startOf(config), runDir, inUse })
  t.equal(renewed.tls?.certificate, identity.cert)
  t.equal(renewed.egress.trustBundle, trustBundle)
  t.match(warnings, [/^SIDEVAULT_EGRESS_CA: /, /^SIDEVAULT_FORWARD_CA: /])
  t.equal(warnings.length, 2)

  const other = { ...inUse, egressCa: undefined }
  await t.rejects(envoyOptions(config, { ...startOf(config), runDir, inUse: other }), {
    message: /issue:\n {2}SIDEVAULT_EGRESS_CA: [^\n]*$/,
  })
  await t.rejects(envoyOptions(config, { ...startOf(config), runDir }), {
    message: /SIDEVAULT_EGRESS_CA.*\n.*SIDEVAULT_FORWARD_CA/,
  })
})

t.test('the authority file of the forward proxy is not read while the proxy is off', async (t) => {
  const runDir = directoryFor(t)
  writeFileSync(join(runDir, 'signer.pem'), 'damaged', { mode: 0o600 })
  const config = loadConfig({ SIDEVAULT_FORWARD_CA: join(runDir, 'signer.pem') })
  await t.resolves(envoyOptions(config, { ...startOf(config), runDir }))
})
