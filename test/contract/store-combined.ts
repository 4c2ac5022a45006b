import type { Test } from 'tap'
import {
  and,
  equals,
  HOUR,
  metadata,
  modelledStore,
  not,
  or,
  prefix,
  range,
  type Search,
  term,
} from './modelled-store.ts'
import type { OpenStore } from './store-contract.ts'

const ROUNDS = 12
const STEPS = 12
const SEARCHES = 12

/** Searches put together at random, of values that many tokens have, that few have, and that none has. */
const anySearch = (next: (below: number) => number, times: readonly number[]) => {
  const at = () => times[next(times.length)]! + next(3) - 1
  const part = (): Search => {
    const from = at()
    return [
      () => metadata('color', next(3) === 0 ? 'blue' : 'red'),
      () => metadata('n', String(next(40))),
      () => equals('created_by', `application-${next(3)}`),
      () => equals('modified_by', `application-${next(3)}`),
      () => term(next(2) === 0 ? 'shared' : `own-${next(9)}`),
      () => equals('type', next(4) === 0 ? 'none' : 'card'),
      () => prefix('container', '/pci/'),
      () => range('created_at', from, next(2) === 0 ? at() : from + next(20 * HOUR)),
      () => range('modified_at', from, from + next(2 * HOUR)),
      () => range('expires_at', from, from + next(20 * HOUR)),
    ][next(10)]!()
  }
  const tree = (depth: number): Search => {
    if (depth === 0 || next(4) === 0) return next(4) === 0 ? not(part()) : part()
    const nodes = Array.from({ length: 1 + next(3) }, () => tree(depth - 1))
    return [() => and(...nodes), () => or(...nodes), () => not(and(...nodes))][next(3)]!()
  }
  return tree(1 + next(3))
}

/**
 * Totals and pages of searches that combine conditions, against plain JavaScript, while tokens change, expire and go.
 */
export const storeCombined = async (t: Test, open: OpenStore): Promise<void> => {
  const { store, known, next, create, step, check, now, times } = await modelledStore(t, open, 23)
  await create(150)
  for (let round = 0; round < ROUNDS; round++) {
    for (let steps = 0; steps < STEPS; steps++) await step()
    for (let searches = 0; searches < SEARCHES; searches++) await check(anySearch(next, times()))
    t.pass(`searches among ${known.size}`)
  }

  await t.test('no count runs when no token can match', async (t) => {
    for (const [id] of known) await store.tokens.delete('tenant-a', id, now())
    for (let searches = 0; searches < SEARCHES; searches++) {
      const [where] = anySearch(next, [now()])
      t.equal(await store.tokens.count({ tenantId: 'tenant-a', now: now(), visibility: 'all', where }), 0)
    }
  })
}
