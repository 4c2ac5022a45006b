import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { createAuthority } from '../kit/authority.ts'
import { startOutside } from '../kit/outside.ts'
import { root } from '../kit/sources.ts'

t.test('a destination that requires a client certificate is reached with it only', async (t) => {
  const folder = t.testdir({})
  const authority = await createAuthority('A private authority')
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  write('ca.pem', authority.pem)
  for (const name of ['server', 'client']) {
    const { cert, key } = await authority.issue(['127.0.0.1'])
    write(`${name}.pem`, cert)
    write(`${name}-key.pem`, key)
  }
  const example = (name: string) => join(root, 'examples/mtls-destination', name)
  const server = spawn(process.execPath, [example('server.js'), folder, '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => server.kill())
  const [line] = await once(server.stdout, 'data')
  const destination = String(line).trim()
  const { sidevault: vault } = await startOutside()
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [example('run.js'), vault.url, destination, folder],
    { env: { ...process.env, SIDEVAULT_BOOTSTRAP_KEY: vault.managementKey } },
  )
  const { certificates, through, without } = JSON.parse(stdout)
  t.match(through, { status: 200, body: { client: 'leaf', received: { card: '4242424242424242' } } })
  t.match(without, { status: 502, body: { proxy_error: { code: 'destination_unreachable' } } })
  t.match(certificates, {
    client_certificate: { subject: 'CN=leaf', fingerprint: /^[0-9a-f]{64}$/ },
    ca: [{ subject: 'CN=A private authority' }],
  })
  t.notMatch(stdout, /PRIVATE KEY|BEGIN/)
})
