import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createKeyedMutex, createKeyedSemaphore } from '../../src/common/keyed-mutex.ts'

t.test(
  'work of one key runs in sequence, also after a failure; work of another key concurrently',
  async (t) => {
    const inTurn = createKeyedMutex()
    const seen: string[] = []
    const work =
      (name: string, fails = false) =>
      async () => {
        seen.push(`${name} begins`)
        await setImmediate()
        seen.push(`${name} ends`)
        if (fails) throw new Error(name)
        return name
      }
    const all = await Promise.allSettled([
      inTurn('x', work('a', true)),
      inTurn('x', work('b')),
      inTurn('y', work('c')),
      inTurn('x', work('d')),
    ])
    t.strictSame(
      all.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.message)),
      ['a', 'b', 'c', 'd'],
    )
    t.equal(all[0].status, 'rejected')
    const ofX = seen.filter((line) => !line.startsWith('c'))
    t.strictSame(ofX, ['a begins', 'a ends', 'b begins', 'b ends', 'd begins', 'd ends'])
    t.ok(seen.indexOf('c begins') < seen.indexOf('a ends'), 'another key does not wait')
  },
)

t.test('work that throws synchronously releases the key for the next', async (t) => {
  const inTurn = createKeyedMutex()
  await t.rejects(
    inTurn('x', () => {
      throw new Error('at once')
    }),
    /at once/,
  )
  t.equal(await inTurn('x', async () => 1), 1)
})

t.test(
  'work of one key is limited to its slots, also after a failure; the rest waits in order',
  async (t) => {
    const inPlace = createKeyedSemaphore(2)
    const started: number[] = []
    const ends: (() => void)[] = []
    const work = (id: number) => () => {
      started.push(id)
      return new Promise<number>((resolve, reject) => {
        ends[id] = () => (id === 0 ? reject(new Error('fails')) : resolve(id))
      })
    }
    const all = Promise.allSettled([0, 1, 2, 3].map((id) => inPlace('x', work(id))))
    await setImmediate()
    t.strictSame(started, [0, 1])
    t.equal(await inPlace('y', async () => 'beside'), 'beside')
    for (const id of [0, 1, 2, 3]) {
      ends[id]?.()
      await setImmediate()
      t.strictSame(started, [0, 1, 2, 3].slice(0, id + 3))
    }
    t.strictSame(
      (await all).map(({ status }) => status),
      ['rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
    )
    t.equal(await inPlace('x', async () => 'again'), 'again')
  },
)
