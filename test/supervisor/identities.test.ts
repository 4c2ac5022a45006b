import t from 'tap'
import type { BootstrapOptions } from '../../src/control-plane/options.ts'
import { createIdentities, parseIdentity } from '../../src/supervisor/identities.ts'

const MINUTE = 60_000

/** Changes in turn, as the control plane makes them; names that are refused fail a change. */
const start = (most = { all: 3, ofOwner: 2 }) => {
  let now = 1_000_000
  let current = {} as BootstrapOptions
  let changes = 0
  let last: Promise<unknown> = Promise.resolve()
  const refused = new Set<string>()
  const change = (next: (before: BootstrapOptions) => BootstrapOptions): Promise<void> => {
    const mine = last.then(async () => {
      const wanted = next(current)
      if (wanted === current) return
      changes++
      if (wanted.identities?.some(({ name }) => refused.has(name))) throw new Error('refused')
      current = wanted
    })
    last = mine.catch(() => {})
    return mine
  }
  const identities = createIdentities({ change }, { clock: { now: () => now }, most })
  return {
    refused,
    use: (name: string, owner = 'tenant') => identities.use({ name, owner }),
    close: () => identities.close(),
    names: () => current.identities?.map(({ name }) => name) ?? [],
    changes: () => changes,
    pass: (ms: number) => {
      now += ms
    },
  }
}

t.test('what is used is there, once, and what comes together is one change', async (t) => {
  const { use, names, changes, close } = start()
  t.teardown(close)
  await Promise.all([use('a'), use('b'), use('a')])
  t.same(names().toSorted(), ['a', 'b'])
  t.ok(changes() <= 2)
  await use('a')
  t.ok(changes() <= 2)
})

t.test('what nobody uses goes, and room is limited, for each tenant too', async (t) => {
  const { use, names, pass, close } = start()
  t.teardown(close)
  pass(MINUTE)
  await use('a')
  pass(4.5 * MINUTE)
  await use('b')
  await t.rejects(use('c'), /too many/)
  await use('c', 'other')
  await t.rejects(use('d', 'third'), /too many/)
  pass(MINUTE)
  await use('a')
  pass(4.5 * MINUTE)
  await use('d', 'third')
  t.same(names().toSorted(), ['a', 'd'])
})

t.test('one that Envoy refuses stops no other that came with it', async (t) => {
  const { use, names, refused, close } = start({ all: 10, ofOwner: 10 })
  t.teardown(close)
  refused.add('bad')
  const results = await Promise.allSettled([use('a'), use('bad'), use('b')])
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.same(names().toSorted(), ['a', 'b'])
})

t.test('what a gateway sends is an identity, or refused', (t) => {
  t.same(parseIdentity('n', { owner: 'o', certificate: 'c', key: 'k', authorities: 'a' }), {
    name: 'n',
    owner: 'o',
    client: { certificate: 'c', key: 'k' },
    authorities: 'a',
  })
  t.throws(() => parseIdentity('n', []), /not an identity/)
  t.throws(() => parseIdentity('n', {}), /not an identity/)
  t.throws(() => parseIdentity('n', { owner: 'o', authorities: 'a\ud800' }), /not an identity/)
  t.end()
})
