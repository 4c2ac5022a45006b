import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { API_URL, FORWARD_PROXY, sharedSidevault } from '../kit/shared-sidevault.ts'
import { ALL_TOKEN_PERMISSIONS } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'

t.test('a destination responds with a card, the caller receives a token of it', async (t) => {
  const vault = await sharedSidevault(FORWARD_PROXY)
  const script = join(root, 'examples/inbound-tokenization/run.js')
  const { stdout } = await promisify(execFile)(process.execPath, [script, vault.url], {
    env: { ...process.env, SIDEVAULT_BOOTSTRAP_KEY: vault.managementKey, SIDEVAULT_API_URL: API_URL },
  })
  const { cards } = JSON.parse(stdout)
  t.equal(cards[0].name, 'Ada Lovelace')
  t.notMatch(stdout, /4242424242424242/)
  const key = await vault.application({ permissions: ALL_TOKEN_PERMISSIONS })
  const token = await vault.call('GET', `/tokens/${cards[0].number}`, { key })
  t.equal(token.status, 200)
  t.match(token.json, { type: 'card_number' })
  const used = await vault.call('POST', '/proxy', {
    key,
    body: { number: `{{ ${cards[0].number} }}` },
    headers: { 'svc-proxy-url': 'https://demo.sidevault.test' },
  })
  t.equal(used.json.body.number, '4242424242424242', 'the token stands for the card')
})
