// node run.js <Sidevault's URL> <management key> <port of the forward proxy>
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const [vault, managementKey, port] = process.argv.slice(2)

const made = async (path, key, body) => {
  const response = await fetch(vault + path, {
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
  writeFileSync(ca, await (await fetch(`${vault}/ca.pem`)).text())
  const env = {
    PATH: process.env.PATH,
    HTTPS_PROXY: `http://x:${key}@127.0.0.1:${port}`,
    NODE_USE_ENV_PROXY: '1',
    NODE_EXTRA_CA_CERTS: ca,
  }
  const shop = new URL('shop.js', import.meta.url).pathname
  const buy = () => promisify(execFile)(process.execPath, [shop, card.id], { env })
  // A new host is in force within a second.
  let outcome = await buy().catch(() => undefined)
  for (let tries = 0; outcome === undefined && tries < 20; tries++)
    outcome = await buy().catch(() => undefined)
  process.stdout.write(
    `${JSON.stringify({ proxy: proxy.id, arrived: JSON.parse(outcome.stdout) }, null, 2)}\n`,
  )
} finally {
  rmSync(directory, { recursive: true })
}
