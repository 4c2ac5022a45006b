// SIDEVAULT_BOOTSTRAP_KEY=<management key> node run.js <Sidevault's URL> <port of the forward proxy>
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const [vault, port] = process.argv.slice(2)
const { SIDEVAULT_BOOTSTRAP_KEY: managementKey, SIDEVAULT_API_URL: api = vault } = process.env
if (!managementKey) throw new Error('Export SIDEVAULT_BOOTSTRAP_KEY: the management key.')
const execute = promisify(execFile)
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url))
const HOST = 'demo.sidevault.test'

const made = async (path, key, body) => {
  const response = await fetch(api + path, {
    method: 'POST',
    headers: { 'SVC-API-KEY': key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 201) throw new Error(`${path}: ${await response.text()}`)
  return response.json()
}

const back = await made('/applications', managementKey, {
  name: 'Back office',
  type: 'private',
  permissions: ['token:create'],
})
// The agent's destinations bind the host, and open the one header in which its tokens count.
const agent = await made('/applications', managementKey, {
  name: 'Agent',
  type: 'private',
  permissions: ['token:use'],
  destinations: [{ host: HOST, methods: ['GET'], surfaces: ['header:authorization'] }],
})
// Two APIs of the demo destination; others would have a host each.
const credential = (name) =>
  made('/tokens', back.key, {
    type: 'token',
    data: `secret of ${name}`,
    destinations: [{ host: HOST, path: `/${name}/**` }],
    egress_only: true,
  })
const [mail, crm] = [await credential('mail'), await credential('crm')]

const directory = mkdtempSync(join(tmpdir(), 'sidevault-example-'))
try {
  const ca = join(directory, 'ca.pem')
  writeFileSync(ca, await (await fetch(`${api}/ca.pem`)).text())
  const env = {
    PATH: process.env.PATH,
    HTTPS_PROXY: `http://x:${agent.key}@127.0.0.1:${port}`,
    NODE_USE_ENV_PROXY: '1',
    NODE_EXTRA_CA_CERTS: ca,
    MAIL_API: `https://${HOST}/mail`,
    MAIL_CREDENTIAL: `{{ ${mail.id} }}`,
    CRM_API: `https://${HOST}/crm`,
    CRM_CREDENTIAL: `{{ ${crm.id} }}`,
  }
  // fetch of older Nodes ignores HTTPS_PROXY: the program runs under the Node that Sidevault itself runs under.
  const node = await execute(process.execPath, [pathOf('../../bin/bootstrap/which-node.js')])
  const start = () => execute(node.stdout, [pathOf('agent.js')], { env })
  // A new host is in force within a second.
  const deadline = Date.now() + 5000
  let outcome
  while (outcome === undefined)
    try {
      outcome = await start()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await setTimeout(100)
    }
  process.stdout.write(`${outcome.stdout}\n`)
} finally {
  rmSync(directory, { recursive: true })
}
