import t from 'tap'
import { openPool, programOf } from './kit.ts'

const CALLS = 100

t.test('a child sends one message per call of a trusted busy program', async (t) => {
  const kinds: string[] = []
  const call = await openPool(t, 1, { now: () => 0, onMessage: ({ kind }) => kinds.push(kind) })
  const busy = programOf('busy', 'module.exports = async (number) => number + 1')
  t.match(await call(busy), { kind: 'returned' })
  t.ok(kinds.includes('entering'), 'it reports each step of a program that it does not know')

  kinds.length = 0
  let left = CALLS
  const worker = async () => {
    while (left-- > 0) t.match(await call(busy), { kind: 'returned', json: '2' })
  }
  await Promise.all([worker(), worker(), worker()])
  t.equal(kinds.filter((kind) => kind === 'ended').length, CALLS)
  // it reports more when the machine stops for a while
  t.ok(kinds.length < 2 * CALLS, `${kinds.length} messages for ${CALLS} calls`)

  const other = programOf('other', 'module.exports = async () => "other"')
  t.match(await call(other), { kind: 'returned', json: '"other"' })
})
