import t from 'tap'
import { ApiError } from '../../../src/console/api/client.ts'
import { saveLatest } from '../../../src/console/kit/save-latest.ts'
import { updateOf } from '../../../src/console/screens/settings/tenant-settings.ts'

interface Stored {
  readonly name: string
  readonly read: number
}

/**
 * Saves over names that are read one after the other; `confirmations` to questions about them. `stale`: the number of
 * saves that fail, since somebody else saved first.
 */
const run = async (
  names: readonly string[],
  confirmations: readonly boolean[],
  { known, stale = 0 }: { readonly known?: string; readonly stale?: number } = {},
) => {
  const asked: string[] = []
  const sent: string[] = []
  let reads = 0
  const saved = await saveLatest<Stored, string>({
    read: async () => ({ name: names[reads] ?? '', read: ++reads }),
    part: ({ name }) => name,
    confirmedPart: known,
    ask: async ({ name }) => {
      asked.push(name)
      return confirmations[asked.length - 1] ?? false
    },
    save: async ({ name }) => {
      sent.push(name)
      if (sent.length <= stale) throw new ApiError({ status: 412 })
      return name
    },
  })
  return { saved, asked, sent }
}

t.test('a save replaces the value that was confirmed, and no later one', async (t) => {
  t.strictSame(await run(['a'], [true]), { saved: 'a', asked: ['a'], sent: ['a'] })
  t.strictSame(await run(['a'], [], { known: 'a' }), { saved: 'a', asked: [], sent: ['a'] })
  t.strictSame(await run(['b'], [false], { known: 'a' }), { saved: undefined, asked: ['b'], sent: [] })
  const both = await run(['a', 'b'], [true, true], { stale: 1 })
  t.strictSame(both, { saved: 'b', asked: ['a', 'b'], sent: ['a', 'b'] }, 'changed before the save')
  const kept = await run(['a', 'b'], [true, false], { stale: 1 })
  t.strictSame(kept, { saved: undefined, asked: ['a', 'b'], sent: ['a'] }, 'the other change stays')
  const other = await run(['a', 'a'], [], { known: 'a', stale: 1 })
  t.strictSame(other, { saved: 'a', asked: [], sent: ['a', 'a'] }, 'another part was changed')
})

t.test('a save that fails for another reason is not repeated', async (t) => {
  const failing = saveLatest({
    read: async () => 'a',
    part: (name) => name,
    ask: async () => true,
    save: () => Promise.reject(new ApiError({ status: 403 })),
  })
  await t.rejects(failing, new ApiError({ status: 403 }))
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
