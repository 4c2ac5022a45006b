import t from 'tap'
import { rank } from '../../../src/console/rank.ts'

const labels = (text: string, names: readonly string[]) =>
  rank(
    names.map((label) => ({ label, kind: 'Screen', to: '#/' })),
    text,
  ).map(({ label }) => label)

t.test('entries with all words are found, those that begin with the text first', async (t) => {
  const names = ['First minute', 'New proxy', 'Approximate', 'Proxies', 'New application']
  t.same(labels(' PROX ', names), ['Proxies', 'New proxy', 'Approximate'])
  t.same(labels('app new', names), ['New application'])
  t.same(labels('', names), names)
  t.same(labels('token', names), [])
})
