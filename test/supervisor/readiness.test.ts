import t from 'tap'
import type { FailedComponent } from '../../src/supervisor/messages.ts'
import { waitUntilReady } from '../../src/supervisor/readiness.ts'

t.test('the edge is asked only when all components work, and what fails is reported', async (t) => {
  const states: (readonly FailedComponent[] | undefined)[] = [
    undefined,
    [{ name: 'store', reason: 'It is read-only.' }, { name: 'journal' }],
    [],
    [],
    [],
  ]
  const statuses = [undefined, 503, 200]
  const seen: (readonly FailedComponent[])[] = []
  await waitUntilReady(
    { failed: async () => states.shift(), probe: async () => statuses.shift() },
    {
      signal: new AbortController().signal,
      onFailed: (failed) => seen.push(failed),
    },
  )
  t.strictSame(seen, [
    [{ name: 'health', reason: 'its process does not respond' }],
    [{ name: 'store', reason: 'It is read-only.' }, { name: 'journal' }],
    [{ name: 'edge', reason: 'no response' }],
    [{ name: 'edge', reason: '/readyz has status 503' }],
    [],
  ])
  t.strictSame([states.length, statuses.length], [0, 0])
})

t.test('checks end when the start is given up', async (t) => {
  const halt = new AbortController()
  let checks = 0
  const failed = async () => {
    if (++checks === 3) halt.abort()
    return [{ name: 'store' }]
  }
  await waitUntilReady({ failed, probe: async () => 200 }, { signal: halt.signal, onFailed: () => {} })
  t.equal(checks, 3)
})
