import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { newSecret, signatureHeaders } from '../../../plugins/webhooks/sign.ts'
import { root } from '../../kit/sources.ts'

const guide = readFileSync(join(root, 'docs/guides/webhooks.md'), 'utf8')
const codeIn = (language: string): string =>
  new RegExp(`\`\`\`${language}\n(?<code>(?:import|/\\*\\*)[\\s\\S]*?)\`\`\``).exec(guide)?.groups?.code ?? ''

const [old, secret] = [newSecret(), newSecret()]
const event = { id: 'e', type: 'token.created' }
const body = JSON.stringify({ event, delivered_at: 'now' })
const signedAt = (ms: number) =>
  Object.fromEntries(signatureHeaders([old, secret], { id: 'e', seconds: Math.floor(ms / 1000), body }))
const cases = [
  { name: 'the old secret', secret: old, headers: signedAt(Date.now()), body, valid: true },
  { name: 'the new secret', secret, headers: signedAt(Date.now()), body, valid: true },
  { name: 'another secret', secret: newSecret(), headers: signedAt(Date.now()), body, valid: false },
  { name: 'another body', secret, headers: signedAt(Date.now()), body: `${body} `, valid: false },
  { name: 'an old time', secret, headers: signedAt(Date.now() - 400_000), body, valid: false },
]

t.test('the code of the guide for Node verifies signatures', async (t) => {
  const module: { verify: (...args: unknown[]) => unknown } = await import(
    `data:text/javascript,${encodeURIComponent(codeIn('js'))}`
  )
  for (const { name, valid, ...sent } of cases) {
    const verified = () => module.verify(sent.secret, sent.headers, sent.body)
    if (valid) t.strictSame(verified(), event, name)
    else t.throws(verified, name)
  }
})

t.test('the code of the guide for Python verifies signatures', async (t) => {
  for (const { name, valid, ...sent } of cases) {
    const call =
      'import sys\nx = json.load(sys.stdin)\nverify(x["secret"], x["headers"], x["body"].encode())\n'
    const { status, error } = spawnSync('python3', ['-c', `${codeIn('python')}\n${call}`], {
      input: JSON.stringify(sent),
    })
    if (error !== undefined) return t.comment('there is no python3')
    t.equal(status === 0, valid, name)
  }
})
