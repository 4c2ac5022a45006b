import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { API_URL, FORWARD_PROXY, type SharedSidevault, sharedSidevault } from '../kit/shared-sidevault.ts'
import { root } from '../kit/sources.ts'

const run = async (vault: SharedSidevault, apiUrl: string) => {
  const program = join(root, 'examples/destinations/run.js')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [program, vault.url, 'https://demo.sidevault.test', 'https://example.com'],
    {
      env: { ...process.env, SIDEVAULT_BOOTSTRAP_KEY: vault.managementKey, SIDEVAULT_API_URL: apiUrl },
    },
  )
  return stdout
}

t.test('a card is sent to one provider only, and a credential cannot be read', async (t) => {
  const vault = await sharedSidevault(FORWARD_PROXY)
  await t.rejects(run(vault, 'http://127.0.0.1:1'), 'the management API is called at SIDEVAULT_API_URL')
  const stdout = await run(vault, API_URL)
  const { paid, elsewhere, anotherPath, read } = JSON.parse(stdout)
  t.match(paid, {
    status: 200,
    body: {
      // What the provider repeats is a token again.
      headers: { authorization: /^Bearer \{\{ [\da-f-]{36} \}\}$/ },
      body: { card: '4242424242424242' },
    },
  })
  for (const denied of [elsewhere, anotherPath])
    t.match(denied, { status: 403, body: { proxy_error: { code: 'destination_not_allowed' } } })
  t.match(read, { status: 200, body: { egress_only: true } })
  t.notOk('data' in read.body)
})
