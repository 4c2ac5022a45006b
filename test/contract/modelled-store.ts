import type { Test } from 'tap'
import type { NewToken, SearchNode, TokenRow, Visibility } from '../../src/store/tokens/types.ts'
import { aToken, NOW } from '../store/kit.ts'
import { numbers } from './numbers.ts'
import type { OpenStore } from './store-contract.ts'

export const HOUR = 3_600_000

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

/** A search, and the same in plain JavaScript. */
export type Search = readonly [SearchNode, Matches]

const between = (at: number | null, from: number, to: number) => at !== null && at >= from && at < to

export const range = (
  field: 'created_at' | 'modified_at' | 'expires_at',
  from: number,
  to: number,
): Search => [
  {
    kind: 'range',
    field,
    from: { value: from, inclusive: true },
    to: { value: to, inclusive: false },
  },
  (token) => between(token[field], from, to),
]
export const equals = (field: 'created_by' | 'modified_by' | 'type', value: string): Search => [
  { kind: 'equals', field, value },
  (token) => token[field] === value,
]
export const prefix = (field: 'container', value: string): Search => [
  { kind: 'prefix', field, value },
  (token) => token[field].startsWith(value),
]
export const metadata = (key: string, value: string): Search => [
  { kind: 'metadata', key, value },
  (token) => token.metadata?.[key] === value,
]
export const term = (text: string): Search => [
  { kind: 'term', term: Buffer.from(text) },
  ({ terms }) => terms.some((each) => each.toString() === text),
]
export const not = ([node, matches]: Search): Search => [{ kind: 'not', node }, (token) => !matches(token)]
export const and = (...parts: Search[]): Search => [
  { kind: 'and', nodes: parts.map(([node]) => node) },
  (token) => parts.every(([, matches]) => matches(token)),
]
export const or = (...parts: Search[]): Search => [
  { kind: 'or', nodes: parts.map(([node]) => node) },
  (token) => parts.some(([, matches]) => matches(token)),
]

const VISIBILITIES: readonly (readonly [Visibility, Matches])[] = [
  ['all', () => true],
  [
    [[{ attribute: 'container', operator: 'starts_with', value: '/pci/' }]],
    ({ container }) => container.startsWith('/pci/'),
  ],
  [[[{ attribute: 'id', operator: 'starts_with', value: 'id-1' }]], ({ id }) => id.startsWith('id-1')],
]

/** A store, and what is done to it at random, the same for the same `seed`: `known` is what it must hold then. */
export const modelledStore = async (t: Test, open: OpenStore, seed: number) => {
  const store = await open(t)
  const next = numbers(seed)
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

  const step = async () => {
    await [() => create(next(12) + 1), update, update, remove, purge, reuse][next(6)]!()
    now += next(4) === 0 ? next(3 * HOUR) : next(400)
  }

  /** For each of several callers: the total, and all pages of the search. */
  const check = async ([where, matches]: Search): Promise<void> => {
    for (const [visibility, sees] of VISIBILITIES) {
      const wanted = [...known.values()]
        .filter((token) => token.tenant_id === 'tenant-a' && (token.expires_at ?? now + 1) > now)
        .filter((token) => matches(token) && sees(token))
        .map(({ id }) => id)
        .reverse()
      const query = { tenantId: 'tenant-a', now, visibility, where }
      const name = `${JSON.stringify(where)}, of ${JSON.stringify(visibility)}`
      const total = await store.tokens.count(query)
      if (total !== wanted.length) t.equal(total, wanted.length, name)
      const walked: string[] = []
      for (let beforeSeq: number | undefined; ; ) {
        const rows = await store.tokens.list({ ...query, size: 100, ...(beforeSeq ? { beforeSeq } : {}) })
        walked.push(...rows.map(({ id }) => id))
        if (rows.length < 100) break
        beforeSeq = rows.at(-1)?.seq
      }
      if (walked.join() !== wanted.join()) t.strictSame(walked, wanted, name)
    }
  }

  return {
    store,
    known,
    next,
    create,
    step,
    check,
    now: () => now,
    /** Times of tokens, among them those at which counting may go wrong. */
    times: () => [...known.values()].flatMap((token) => [token.created_at, token.modified_at ?? now]),
  }
}
