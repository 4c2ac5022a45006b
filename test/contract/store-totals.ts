import type { Test } from 'tap'
import { NOW } from '../store/kit.ts'
import {
  and,
  equals,
  HOUR,
  metadata,
  modelledStore,
  not,
  or,
  range,
  type Search,
  term,
} from './modelled-store.ts'
import type { OpenStore } from './store-contract.ts'

/** Of times near `times`, as that is where counting may go wrong. */
const searches = (next: (below: number) => number, times: readonly number[]): Search[] => {
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

/** What the store counts of tokens against what counting them gives, whatever was done to them. */
export const storeTotals = async (t: Test, open: OpenStore): Promise<void> => {
  const { store, known, next, create, step, check, now, times } = await modelledStore(t, open, 11)
  await create(80)
  for (let round = 0; round < 3; round++) {
    for (let steps = 0; steps < 50; steps++) await step()
    for (const search of searches(next, times())) await check(search)
    t.pass(`all searches among ${known.size}`)
  }

  await t.test('nothing is left of the counts when nothing is left to count', async (t) => {
    for (const [id] of known) await store.tokens.delete('tenant-a', id, now())
    const query = { tenantId: 'tenant-a', now: now(), visibility: 'all' as const }
    for (const [where] of searches(next, [NOW, now()]))
      t.equal(await store.tokens.count({ ...query, where }), 0)
  })
}
