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

const made = async (path, key, body) => {
  const response = await fetch(api + path, {
    method: 'POST',
    headers: { 'SVC-API-KEY': key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (response.status !== 201) throw new Error(`${path}: ${await response.text()}`)
  return response.json()
}

const { key } = await made('/applications', managementKey, {
  name: 'Shop',
  type: 'private',
  permissions: ['token:create', 'token:use'],
})
const card = await made('/tokens', key, {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' },
})
// Binds the host: its requests below /v1 are opened, and their bodies get values.
const proxy = await made('/proxies', managementKey, {
  name: 'Provider',
  destination_url: 'https://demo.sidevault.test/v1',
  intercept: true,
})

const directory = mkdtempSync(join(tmpdir(), 'sidevault-example-'))
try {
  const ca = join(directory, 'ca.pem')
  writeFileSync(ca, await (await fetch(`${api}/ca.pem`)).text())
  const env = {
    PATH: process.env.PATH,
    HTTPS_PROXY: `http://x:${key}@127.0.0.1:${port}`,
    NODE_USE_ENV_PROXY: '1',
    NODE_EXTRA_CA_CERTS: ca,
  }
  // fetch of older Nodes ignores HTTPS_PROXY: the program runs under the Node that Sidevault itself runs under.
  const node = await execute(process.execPath, [pathOf('../../bin/bootstrap/which-node.js')])
  const buy = () => execute(node.stdout, [pathOf('shop.js'), card.id], { env })
  // A new host is in force within a second.
  const deadline = Date.now() + 5000
  let outcome
  while (outcome === undefined)
    try {
      outcome = await buy()
    } catch (error) {
      if (Date.now() > deadline) throw error
      await setTimeout(100)
    }
  process.stdout.write(
    `${JSON.stringify({ proxy: proxy.id, arrived: JSON.parse(outcome.stdout) }, null, 2)}\n`,
  )
} finally {
  rmSync(directory, { recursive: true })
  // A tenant has one such proxy for a host and path: the next run stores its own.
  await fetch(`${api}/proxies/${proxy.id}`, {
    method: 'DELETE',
    headers: { 'SVC-API-KEY': managementKey },
  })
}
