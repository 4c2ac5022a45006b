import t from 'tap'
import { CALL_BYTES } from '../../../src/sandbox/limits.ts'
import { createHostCalls } from '../../../src/sandbox/parent/host-calls.ts'

t.test('inputs of calls are limited, each and together', async (t) => {
  const gate = Promise.withResolvers<null>()
  const calls = createHostCalls({ sdk: true, call: () => gate.promise }, { atOnce: 10, maxChars: 1_000 })
  t.match(await calls.call('fetch', `"${'x'.repeat(CALL_BYTES)}"`), /too large/)
  const longest = `"${'x'.repeat(CALL_BYTES - 2)}"`
  const pending = [calls.call('fetch', longest), calls.call('fetch', longest), calls.call('fetch', longest)]
  t.match(await calls.call('fetch', longest), /too large/)
  gate.resolve(null)
  t.same(await Promise.all(pending), Array(3).fill('{"ok":null}'))
  t.equal(await calls.call('fetch', longest), '{"ok":null}', 'settled calls no longer count')
})
