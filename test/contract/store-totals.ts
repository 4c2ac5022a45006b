import type { Test } from 'tap'
import type { NewToken, SearchNode, Store, TokenRow, Visibility } from '../../src/store/types.ts'
import { aToken, NOW } from '../store/kit.ts'
import { numbers } from './numbers.ts'
import type { OpenStore } from './store-contract.ts'

const HOUR = 3_600_000

/** What the test knows of a token, to be searched by plain JavaScript. */
type Known = Pick<
  TokenRow,
  | 'id'
  | 'tenant_id'
  | 'type'
  | 'container'
  | 'metadata'
  | 'expires_at'
  | 'created_by'
  | 'created_at'
  | 'modified_by'
  | 'modified_at'
> & { readonly terms: readonly Buffer[] }

type Matches = (token: Known) => boolean

const between = (at: number | null, from: number, to: number) => at !== null && at >= from && at < to

const range = (field: 'created_at' | 'modified_at', from: number, to: number): [SearchNode, Matches] => [
  {
    kind: 'range',
    field,
    from: { value: from, inclusive: true },
    to: { value: to, inclusive: false },
  },
  (token) => between(token[field], from, to),
]
const equals = (field: 'created_by' | 'modified_by' | 'type', value: string): [SearchNode, Matches] => [
  { kind: 'equals', field, value },
  (token) => token[field] === value,
]
const metadata = (key: string, value: string): [SearchNode, Matches] => [
  { kind: 'metadata', key, value },
  (token) => token.metadata?.[key] === value,
]
const term = (text: string): [SearchNode, Matches] => [
  { kind: 'term', term: Buffer.from(text) },
  ({ terms }) => terms.some((each) => each.toString() === text),
]
const not = ([node, matches]: [SearchNode, Matches]): [SearchNode, Matches] => [
  { kind: 'not', node },
  (token) => !matches(token),
]
const and = (...parts: [SearchNode, Matches][]): [SearchNode, Matches] => [
  { kind: 'and', nodes: parts.map(([node]) => node) },
  (token) => parts.every(([, matches]) => matches(token)),
]
const or = (...parts: [SearchNode, Matches][]): [SearchNode, Matches] => [
  { kind: 'or', nodes: parts.map(([node]) => node) },
  (token) => parts.some(([, matches]) => matches(token)),
]

/** Of times near `times`, as that is where counting may go wrong. */
const searches = (next: (below: number) => number, times: readonly number[]): [SearchNode, Matches][] => {
  const at = () => times[next(times.length)]! + next(120) - 60
  const [from, to] = [at(), at()].sort((a, b) => a - b) as [number, number]
  const created = range('created_at', from, to)
  const modified = range('modified_at', from, to)
  const second = range('created_at', Math.floor(from / 1_000) * 1_000, Math.ceil(to / 1_000) * 1_000)
  const red = metadata('color', 'red')
  const mine = equals('created_by', 'application-0')
  const changed = equals('modified_by', 'application-1')
  const card = equals('type', 'card')
  return [
    created,
    second,
    range('created_at', from, from + next(150)),
    range('created_at', to, from),
    and(created, range('created_at', from + HOUR, to + HOUR)),
    and(created, card),
    not(created),
    modified,
    and(modified, not(card)),
    not(modified),
    and(created, modified),
    red,
    not(red),
    and(red, card),
    and(red, created),
    and(red, metadata('n', '1')),
    or(red, metadata('n', '1')),
    mine,
    and(mine, card, created),
    changed,
    not(changed),
    and(mine, changed),
    or(mine, created),
    term('shared'),
    and(term('shared'), created),
    and(term('own-1'), red),
  ]
}

const check = async (
  t: Test,
  { tokens }: Store,
  known: ReadonlyMap<string, Known>,
  now: number,
  next: (below: number) => number,
): Promise<void> => {
  const times = [...known.values()].flatMap((token) => [token.created_at, token.modified_at ?? now])
  const visibilities: [Visibility, Matches][] = [
    ['all', () => true],
    [
      [[{ attribute: 'container', operator: 'starts_with', value: '/pci/' }]],
      ({ container }) => container.startsWith('/pci/'),
    ],
    [[[{ attribute: 'id', operator: 'starts_with', value: 'id-1' }]], ({ id }) => id.startsWith('id-1')],
  ]
  for (const [index, [where, matches]] of searches(next, times).entries())
    for (const [visibility, sees] of visibilities) {
      const wanted = [...known.values()]
        .filter((token) => token.tenant_id === 'tenant-a' && (token.expires_at ?? now + 1) > now)
        .filter((token) => matches(token) && sees(token))
        .map(({ id }) => id)
        .reverse()
      const query = { tenantId: 'tenant-a', now, visibility, where }
      const name = `search ${index}, ${JSON.stringify(where)}, of ${JSON.stringify(visibility)}`
      const total = await tokens.count(query)
      if (total !== wanted.length) t.equal(total, wanted.length, name)
      const walked: string[] = []
      for (let beforeSeq: number | undefined; ; ) {
        const rows = await tokens.list({ ...query, size: 100, ...(beforeSeq ? { beforeSeq } : {}) })
        walked.push(...rows.map(({ id }) => id))
        if (rows.length < 100) break
        beforeSeq = rows.at(-1)?.seq
      }
      if (walked.join() !== wanted.join()) t.strictSame(walked, wanted, name)
    }
  t.pass(`all searches among ${known.size}`)
}

/** What the store counts of tokens against what counting them gives, whatever was done to them. */
export const storeTotals = async (t: Test, open: OpenStore): Promise<void> => {
  const store = await open(t)
  const next = numbers(11)
  /** In order of creation. */
  const known = new Map<string, Known>()
  let now = NOW
  let made = 0

  const create = async (count: number) => {
    const fresh = Array.from({ length: count }, (): NewToken => {
      made += 1
      return aToken({
        id: `id-${made}`,
        tenant_id: next(8) === 0 ? 'tenant-b' : 'tenant-a',
        type: next(3) === 0 ? 'bank' : 'card',
        container: ['/pci/high/', '/pci/low/', '/bank/'][next(3)]!,
        metadata: next(4) === 0 ? null : { color: next(3) === 0 ? 'blue' : 'red', n: String(next(40)) },
        created_by: `application-${next(5) === 0 ? next(30) : 0}`,
        // Clocks of several machines are not in step.
        created_at: now - next(300),
        expires_at: next(6) === 0 ? now + next(30) * HOUR + 1 : null,
        terms: [Buffer.from(next(2) === 0 ? 'shared' : `own-${next(9)}`)],
      })
    })
    await store.tokens.create(fresh, now)
    for (const token of fresh) known.set(token.id, { ...token, modified_by: null, modified_at: null })
  }

  const some = () => [...known.values()][next(known.size)]!

  const update = async () => {
    const { tenant_id, id } = some()
    const [row] = await store.tokens.read(tenant_id, [id], now)
    if (!row) return
    const changes = {
      container: ['/pci/high/', '/bank/'][next(2)]!,
      metadata: next(2) === 0 ? row.metadata : { color: 'red' },
      expires_at: next(3) === 0 ? now + HOUR : row.expires_at,
      modified_by: `application-${next(3)}`,
      modified_at: now - next(200),
    }
    const terms = [Buffer.from(next(2) === 0 ? 'shared' : 'own-1')]
    const { version, ...rest } = row
    const updated = await store.tokens.update(
      { row: { ...rest, ...changes }, version, terms, deduplicate: false },
      now,
    )
    t.match(updated, { kind: 'updated' })
    known.set(id, { ...known.get(id)!, ...changes, terms })
  }

  const remove = async () => {
    const { tenant_id, id } = some()
    await store.tokens.delete(tenant_id, id, now)
    known.delete(id)
  }

  const purge = async () => {
    await store.tokens.purge(now, 25)
  }

  /** The id of an expired token, purged or not, is free. */
  const reuse = async () => {
    const expired = [...known.values()].find(({ expires_at }) => (expires_at ?? now + 1) <= now)
    if (!expired) return
    const token = aToken({
      id: expired.id,
      tenant_id: expired.tenant_id,
      created_at: now,
      terms: expired.terms as Buffer[],
    })
    await store.tokens.create([token], now)
    known.delete(expired.id)
    known.set(token.id, { ...token, modified_by: null, modified_at: null })
  }

  await create(80)
  for (let round = 0; round < 3; round++) {
    for (let step = 0; step < 50; step++) {
      const work = [() => create(next(12) + 1), update, update, remove, purge, reuse][next(6)]!
      await work()
      now += next(4) === 0 ? next(3 * HOUR) : next(400)
    }
    if (round > 0) await store.tokens.tally(30, round === 1 ? 40 : 10)
    await check(t, store, known, now, next)
  }

  await t.test('nothing is left of the counts when nothing is left to count', async (t) => {
    for (const [id] of known) await store.tokens.delete('tenant-a', id, now)
    const query = { tenantId: 'tenant-a', now, visibility: 'all' as Visibility }
    for (const [where] of searches(next, [NOW, now]))
      t.equal(await store.tokens.count({ ...query, where }), 0)
  })
}
