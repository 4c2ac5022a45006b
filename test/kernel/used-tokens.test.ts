import t from 'tap'
import { createUsedTokens } from '../../src/kernel/used-tokens.ts'

const state = (version: number, id = 'a') => ({ id, created_at: 1, version, until: null })

t.test(
  'a result depends on the first state of a token seen, unless the call changed it itself',
  async (t) => {
    const used = createUsedTokens()
    for (const version of [1, 2]) used.add(state(version))
    t.strictSame(used.states(), [state(1)])
    used.add(state(3), 'own')
    t.strictSame(used.get('a'), state(1), 'another change came before')
    used.add(state(2), 'own')
    t.strictSame(used.get('a'), state(2))
    used.add({ ...state(3), created_at: 2 }, 'own')
    t.strictSame(used.get('a'), state(2), 'another token of that id')
  },
)

t.test('tokens above the tracking limit have no states', async (t) => {
  const used = createUsedTokens()
  for (let at = 0; at < 20_000; at++) used.add(state(1, String(at)))
  used.add(state(2, '0'), 'own')
  t.equal(used.states()?.length, 20_000)
  used.add(state(1, 'more'))
  t.equal(used.states(), undefined)
})
