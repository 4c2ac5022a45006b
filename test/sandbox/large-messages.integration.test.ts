import t, { type Test } from 'tap'
import type { SandboxHost } from '../../src/sandbox/types.ts'
import { openSandbox, returned } from './kit.ts'

const MIB = 2 ** 20

const RESPONSE = { url: 'https://x.test/', status: 200, statusText: '', redirected: false, headers: [] }
/** Responds with the length of the request's body. */
const echo: SandboxHost = {
  sdk: false,
  call: async (_, input) => {
    const { body } = input as { readonly body: string }
    return { ...RESPONSE, base64: Buffer.from(String(body.length)).toString('base64') }
  },
}

/** Sends `count` bodies at once. */
const SEND = `module.exports = async ({ count, length }) => {
  const send = async () => (await fetch('https://x.test', { method: 'POST', body: 'x'.repeat(length) })).text()
  const sent = await Promise.allSettled(Array.from({ length: count }, send))
  return sent.map(({ value, reason }) => value ?? reason.message)
}`

const { run, metrics } = await openSandbox(t, { children: 2 })

/** On a busy machine a child may be silent for too long: that is not what is tested. */
const survived = async (test: Test) => {
  const { values } = await metrics.sandbox.exits.get()
  const exits = values.filter(({ labels }) => labels.reason === 'crash' || labels.reason === 'memory')
  test.same(exits, [], 'no child crashed')
}

t.test('the inputs of concurrent host calls may be longer than one message', async (t) => {
  for (const [count, length] of [
    [6, 5 * MIB],
    [50, 600_000],
  ] as const) {
    const outcome = await run(SEND, { argument: { count, length }, host: echo })
    t.same(returned(outcome), Array(count).fill(String(length)))
  }
  await survived(t)
})

t.test('inputs above the limits are errors of their calls', async (t) => {
  const outcome = await run(SEND, { argument: { count: 1, length: 16 * MIB }, host: echo })
  t.match(returned(outcome), [/^The input of this call/])
  const many = returned(await run(SEND, { argument: { count: 12, length: 5 * MIB }, host: echo })) as string[]
  t.same(many.slice(0, 9), Array(9).fill(String(5 * MIB)))
  t.match(many.slice(9), Array(3).fill(/^The input of this call/))
  await survived(t)
})

t.test('the limit of a result counts bytes', async (t) => {
  const code = "module.exports = ({ length }) => ({ raw: { s: '€'.repeat(length) } })"
  t.match(await run(code, { argument: { length: 3 * MIB } }), { kind: 'returned' })
  t.match(await run(code, { argument: { length: 4 * MIB } }), { kind: 'limit', limit: 'result' })
  // Each ends by a limit; where a machine is slow, by that of CPU.
  for (let each = 0; each < 14; each++) {
    const large = `${code} // ${each}`
    t.match(await run(large, { argument: { length: 9 * MIB } }), { kind: 'limit' })
  }
  await survived(t)
})
