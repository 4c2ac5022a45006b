import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import {
  API_URL,
  FORWARD_PROXY,
  forwardPort,
  type SharedSidevault,
  sharedSidevault,
} from '../kit/shared-sidevault.ts'
import { root } from '../kit/sources.ts'

const started = () => sharedSidevault(FORWARD_PROXY)

const run = async (example: string, vault: SharedSidevault) => {
  const program = join(root, 'examples', example, 'run.js')
  const env = { ...process.env, SIDEVAULT_BOOTSTRAP_KEY: vault.managementKey, SIDEVAULT_API_URL: API_URL }
  const { stdout } = await promisify(execFile)(process.execPath, [program, vault.url, String(forwardPort)], {
    env,
  })
  return JSON.parse(stdout)
}

t.test('an SDK with a fixed URL sends a card unknown to its program, in each run', async (t) => {
  const vault = await started()
  for (let runs = 0; runs < 2; runs++) {
    const { arrived } = await run('forward-proxy', vault)
    t.match(arrived, { path: '/v1/charges', body: { card: { number: '4242424242424242', cvc: '123' } } })
  }
})

t.test('an agent has tokens only, and each is sent to its API only', async (t) => {
  const { mail, contacts, misled, elsewhere } = await run('agent', await started())
  // What an API repeats of a credential is a token again.
  const authorization = /^Bearer \{\{ [\da-f-]{36} \}\}$/
  t.match(mail, { status: 200, body: { headers: { authorization } } })
  t.match(contacts, { status: 200, body: { headers: { authorization } } })
  t.match(misled, { status: 403, body: { proxy_error: { code: 'destination_not_allowed' } } })
  t.equal(elsewhere, 'denied')
})
