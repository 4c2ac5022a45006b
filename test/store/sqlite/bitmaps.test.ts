import { join } from 'node:path'
import t from 'tap'
import type { Connection } from '../../../src/store/sqlite/connection.ts'
import { placeOf, unpackNumbers } from '../../../src/store/tokens/bits.ts'
import { EVERY } from '../../../src/store/tokens/segments.ts'
import type { Store } from '../../../src/store/types.ts'
import { and, equals, metadata, modelledStore, not, or, range, term } from '../../contract/modelled-store.ts'
import { NOW } from '../kit.ts'
import { tracedStore } from './kit.ts'

interface Segment {
  readonly tenant_id: string
  readonly first_seq: number
  readonly last_seq: number
  readonly seqs: Buffer
  readonly times: Buffer
}

const upkeep = async ({ tokens }: Store, common: number) => {
  while (await tokens.tally(30, common));
}

/** The numbers of the tokens that have a value, by direct statements. */
const numbersOf = (db: Connection, tenant: string, entry: string): Set<number> => {
  const numbers = (text: string, ...values: unknown[]) =>
    new Set(
      db
        .prepare(text)
        .pluck()
        .all(tenant, ...values) as number[],
    )
  const [kind = '', ...words] = entry.split(' ')
  const text = words.join(' ')
  if (kind === EVERY) return numbers('select seq from tokens where tenant_id = ?')
  if (kind === 'group')
    return numbers("select seq from tokens where tenant_id = ? and type || ' ' || container = ?", text)
  if (kind === 'term')
    return numbers('select seq from token_terms where tenant_id = ? and lower(hex(term)) = ?', text)
  if (kind === 'metadata')
    return numbers("select seq from token_metadata where tenant_id = ? and key || '=' || value = ?", text)
  return numbers(`select seq from tokens where tenant_id = ? and ${kind} = ?`, text)
}

/** What bitmaps say that rows do not, and the reverse. */
const faultsOf = (db: Connection): readonly string[] => {
  const faults: string[] = []
  const segments = db.prepare('select * from token_segments order by tenant_id, last_seq').all() as Segment[]
  const bitmaps = db.prepare('select * from token_bitmaps').all() as {
    tenant_id: string
    entry: string
    through: number
  }[]
  const bits = db
    .prepare('select bits from token_bits where tenant_id = ? and entry = ? and segment = ?')
    .pluck()
  for (const [at, { tenant_id, first_seq, last_seq, seqs, times }] of segments.entries()) {
    const name = `${tenant_id} ${last_seq}`
    const before = segments[at - 1]
    if (before?.tenant_id === tenant_id && before.last_seq >= first_seq) faults.push(`${name} overlaps`)
    const numbers = unpackNumbers(seqs)
    const made = unpackNumbers(times)
    const rows = db
      .prepare('select seq, created_at from tokens where tenant_id = ? and seq > ? and seq <= ?')
      .all(tenant_id, before?.tenant_id === tenant_id ? before.last_seq : 0, last_seq) as {
      seq: number
      created_at: number
    }[]
    for (const { seq, created_at } of rows) {
      const place = placeOf(numbers, seq)
      if (place === undefined || made[place] !== created_at) faults.push(`${name} lacks ${seq}`)
    }
    const entries = bitmaps.filter((bitmap) => bitmap.tenant_id === tenant_id && bitmap.through >= last_seq)
    for (const entry of [EVERY, ...entries.map(({ entry }) => entry)]) {
      const stored = bits.get(tenant_id, entry, last_seq) as Buffer | undefined
      if (stored === undefined) faults.push(`${name} has no bits of ${entry}`)
      const having = numbersOf(db, tenant_id, entry)
      for (const [place, seq] of numbers.entries()) {
        const set = (((stored?.[place >> 3] ?? 0) >> (place & 7)) & 1) === 1
        if (set !== having.has(seq)) faults.push(`${name}: ${entry} of ${seq}`)
      }
    }
  }
  const places = new Set(segments.map(({ tenant_id, last_seq }) => `${tenant_id} ${last_seq}`))
  const all = db.prepare("select tenant_id || ' ' || segment from token_bits").pluck().all() as string[]
  faults.push(...all.filter((place) => !places.has(place)).map((place) => `bits without a segment: ${place}`))
  return faults
}

t.test('bitmaps say what rows say, whatever was done to tokens, and totals are read from them', async (t) => {
  const { store, db, taken } = tracedStore(join(t.testdir({}), 'a.db'))
  t.teardown(() => store.close())
  const { create, step, check, times, now, next, known } = await modelledStore(t, async () => store, 5)
  const red = metadata('color', 'red')
  const mine = equals('created_by', 'application-0')
  const read = async (search: Parameters<typeof check>[0]) => {
    taken()
    await store.tokens.count({ tenantId: 'tenant-a', now: now(), visibility: 'all', where: search[0] })
    return taken().some((text) => text.includes('from token_bits'))
  }
  await create(120)
  await upkeep(store, 16)
  for (let round = 0; round < 10; round++) {
    for (let steps = 0; steps < 15; steps++) {
      await step()
      t.strictSame(faultsOf(db), [])
    }
    await upkeep(store, 16)
    t.strictSame(faultsOf(db), [])
    const [from, to] = [times()[next(known.size)]!, times().at(-1)!]
    for (const search of [
      and(red, mine),
      or(red, equals('type', 'bank')),
      and(red, range('created_at', from, to)),
      and(not(red), term('shared'), not(range('created_at', from, from + 500))),
      or(mine, metadata('n', '7'), equals('modified_by', 'application-9')),
    ]) {
      await check(search)
      t.ok(await read(search), JSON.stringify(search[0]))
    }
  }
  const segments = db.prepare('select count(*) from token_segments').pluck()
  t.ok((segments.get() as number) > 3)

  await t.test('what is thinned out is joined, and what is empty is gone', async (t) => {
    const before = segments.get() as number
    const ids = [...known].filter(([, { tenant_id }]) => tenant_id === 'tenant-a').map(([id]) => id)
    for (const id of ids.filter((_, at) => at % 5 > 0)) await store.tokens.delete('tenant-a', id, now())
    await upkeep(store, 16)
    t.strictSame(faultsOf(db), [])
    t.ok((segments.get() as number) <= before / 2)
    for (const id of ids) await store.tokens.delete('tenant-a', id, now())
    t.equal(db.prepare("select count(*) from token_segments where tenant_id = 'tenant-a'").pluck().get(), 0)
    t.strictSame(faultsOf(db), [])
  })
})

t.test('a value that nobody has any more leaves no bitmaps', async (t) => {
  const { store, db } = tracedStore(join(t.testdir({}), 'a.db'))
  t.teardown(() => store.close())
  const { create } = await modelledStore(t, async () => store, 7)
  await create(60)
  await upkeep(store, 8)
  const red = () =>
    db.prepare("select count(*) from token_bits where entry = 'metadata color=red'").pluck().get()
  t.ok(red())
  const all = { tenantId: 'tenant-a', now: NOW, visibility: 'all' as const }
  const reds = await store.tokens.list({ ...all, size: 100, where: metadata('color', 'red')[0] })
  const ids = reds.map(({ id }) => id)
  for (const row of await store.tokens.read('tenant-a', ids, NOW))
    await store.tokens.update(
      { row: { ...row, metadata: null }, version: row.version, terms: [], deduplicate: false },
      NOW,
    )
  for (const row of await store.tokens.list({ ...all, tenantId: 'tenant-b', size: 100 }))
    await store.tokens.delete('tenant-b', row.id, NOW)
  await upkeep(store, 8)
  t.equal(red(), 0)
  t.strictSame(faultsOf(db), [])
})
