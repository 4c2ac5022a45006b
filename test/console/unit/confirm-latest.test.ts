import t from 'tap'
import { confirmLatest } from '../../../src/console/kit/confirm-latest.ts'
import { updateOf } from '../../../src/console/screens/settings/tenant.ts'

interface Stored {
  readonly name: string
  readonly read: number
}

/** Confirms names that are stored one after the other; `confirmations` to questions about them. */
const run = async (names: readonly string[], confirmations: readonly boolean[], known?: string) => {
  const asked: string[] = []
  let reads = 0
  const result = await confirmLatest<Stored>({
    read: async () => ({ name: names[reads] ?? '', read: ++reads }),
    part: ({ name }) => name,
    confirmedPart: known,
    ask: async ({ name }) => {
      asked.push(name)
      return confirmations[asked.length - 1] ?? false
    },
  })
  return { name: result?.name, asked, reads }
}

t.test('a value that changes during a confirmation is confirmed again before it is replaced', async (t) => {
  t.strictSame(await run(['a', 'a'], [true]), { name: 'a', asked: ['a'], reads: 2 })
  t.strictSame(await run(['a', 'b', 'b'], [true, true]), { name: 'b', asked: ['a', 'b'], reads: 3 })
  t.strictSame(await run(['a', 'b'], [true, false]), { name: undefined, asked: ['a', 'b'], reads: 2 })
  t.strictSame(await run(['a'], [], 'a'), { name: 'a', asked: [], reads: 1 })
  t.strictSame(await run(['b'], [false], 'a'), { name: undefined, asked: ['b'], reads: 1 })
})

t.test('an update of the tenant holds what was changed, over what is stored', async (t) => {
  const opened = { name: 'A', settings: { a: 'false', b: 'false' } }
  const now = { name: 'B', settings: { a: 'true', b: 'false', c: 'new' } }
  t.strictSame(updateOf(opened, opened, now), { name: 'B' })
  t.strictSame(updateOf(opened, { name: 'C', settings: { a: 'false', b: 'true' } }, now), {
    name: 'C',
    settings: { a: 'true', b: 'true', c: 'new' },
  })
})
