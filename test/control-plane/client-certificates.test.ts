import t from 'tap'
import {
  createClientCertificates,
  parseClientCertificate,
} from '../../src/control-plane/client-certificates.ts'
import { NackError } from '../../src/control-plane/discovery.ts'
import type { BootstrapOptions } from '../../src/control-plane/options.ts'

const MINUTE = 60_000

/** Changes in turn, as the control plane makes them; a change with a rejected name fails. */
const start = (most = { all: 3, ofOwner: 2 }) => {
  let now = 1_000_000
  let current = {} as BootstrapOptions
  let changes = 0
  let last: Promise<unknown> = Promise.resolve()
  const rejected = new Set<string>()
  let away = false
  const change = (next: (before: BootstrapOptions) => BootstrapOptions): Promise<void> => {
    const mine = last.then(async () => {
      const wanted = next(current)
      if (wanted === current) return
      changes++
      if (away) throw new NackError([])
      if (wanted.identities?.some(({ name }) => rejected.has(name))) throw new NackError(['clusters'])
      current = wanted
    })
    last = mine.catch(() => {})
    return mine
  }
  const identities = createClientCertificates({ change }, { clock: { now: () => now }, limits: most })
  return {
    rejected,
    goAway: (is: boolean) => {
      away = is
    },
    use: (name: string, owner = 'tenant') => identities.use({ name, owner }),
    close: () => identities.close(),
    names: () => current.identities?.map(({ name }) => name) ?? [],
    changes: () => changes,
    pass: (ms: number) => {
      now += ms
    },
  }
}

t.test('certificates in use are served, each once, and concurrent additions are one change', async (t) => {
  const { use, names, changes, close } = start()
  t.teardown(close)
  await Promise.all([use('a'), use('b'), use('a')])
  t.same(names().toSorted(), ['a', 'b'])
  t.ok(changes() <= 2)
  await use('a')
  t.ok(changes() <= 2)
})

t.test('unused certificates are evicted, and their number is limited, for each tenant too', async (t) => {
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

t.test('a certificate that Envoy rejects blocks no other of the same change', async (t) => {
  const { use, names, rejected, close } = start({ all: 10, ofOwner: 10 })
  t.teardown(close)
  rejected.add('bad')
  const results = await Promise.allSettled([use('a'), use('bad'), use('b')])
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.same(names().toSorted(), ['a', 'b'])
})

t.test(
  'a rejected certificate is not retried for a minute, and its tenant waits before it adds another',
  async (t) => {
    const { use, names, changes, pass, rejected, close } = start({ all: 10, ofOwner: 10 })
    t.teardown(close)
    await use('mine')
    for (const name of ['bad', 'worse']) rejected.add(name)
    await t.rejects(use('bad'), { message: /Envoy rejected the new clusters/ })
    const after = changes()
    await t.rejects(use('bad'), { message: /Envoy rejected the new clusters/ })
    await t.rejects(use('worse'), /rejected recently/)
    await use('mine')
    t.equal(changes(), after, 'no tenant waits for any of it')
    await use('theirs', 'other')
    pass(10_000)
    await t.rejects(use('bad'), { message: /Envoy rejected the new clusters/ })
    t.equal(changes(), after + 1)
    await use('good')
    t.same(names().toSorted(), ['good', 'mine', 'theirs'])
    rejected.delete('bad')
    pass(MINUTE)
    await use('bad')
    t.ok(names().includes('bad'), 'another certificate may have been the cause')
  },
)

t.test('a certificate in use stays when an unrelated change fails', async (t) => {
  const { use, names, pass, goAway, close } = start({ all: 10, ofOwner: 10 })
  t.teardown(close)
  await use('a')
  await use('idle')
  pass(4 * MINUTE)
  await use('a')
  pass(MINUTE)
  goAway(true)
  await t.rejects(use('a'), new NackError([]), 'the other would have gone with it')
  goAway(false)
  await use('b')
  t.same(names().toSorted(), ['a', 'b'])
})

t.test('a message of a gateway is a valid identity, or rejected', (t) => {
  t.same(parseClientCertificate('n', { owner: 'o', certificate: 'c', key: 'k', authorities: 'a' }), {
    name: 'n',
    owner: 'o',
    client: { certificate: 'c', key: 'k' },
    authorities: 'a',
  })
  t.throws(() => parseClientCertificate('n', []))
  t.throws(() => parseClientCertificate('n', {}))
  t.throws(() => parseClientCertificate('n', { owner: 'o', authorities: 'a\ud800' }))
  t.end()
})
