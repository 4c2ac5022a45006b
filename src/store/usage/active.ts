import type { Schema } from '../schema.ts'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import { monthOf } from './month.ts'

/** Writes no row when the token was active in that month before. */
const insertActive = statement<Schema['active_tokens']>(({ builder, valuesOf: rows }, slot) =>
  builder
    .insertInto('active_tokens')
    .columns(['month', 'tenant_id', 'seq'])
    .expression(rows(slot, { month: 'bigint', tenant_id: 'text', seq: 'bigint' }))
    .onConflict((conflict) => conflict.doNothing()),
)

const addActive = statement<Schema['active_counts']>(({ builder }, slot) =>
  builder
    .insertInto('active_counts')
    .values({ tenant_id: slot('tenant_id'), month: slot('month'), count: slot('count') })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant_id', 'month'])
        .doUpdateSet((eb) => ({ count: eb('active_counts.count', '+', eb.ref('excluded.count')) })),
    ),
)

/** What is counted of a log. */
interface Activity {
  readonly tenant_id: string
  readonly created_at: number
  readonly token_seq?: number
}

/** Counts the tokens that newly ingested logs show as active in a month for the first time, by tenant. */
export const writeActiveTokens = async (session: Session, logs: readonly Activity[]): Promise<void> => {
  const seqs = new Map<string, Set<number>>()
  for (const { tenant_id, created_at, token_seq } of logs) {
    if (token_seq === undefined) continue
    const key = `${monthOf(created_at)} ${tenant_id}`
    seqs.set(key, (seqs.get(key) ?? new Set()).add(token_seq))
  }
  // One order everywhere, so that two transactions never deadlock.
  for (const [key, tokens] of [...seqs].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [month, tenant_id] = key.split(' ') as [string, string]
    const group = { month: Number(month), tenant_id }
    const count = await session.runAll(
      insertActive,
      [...tokens].map((seq) => ({ ...group, seq })),
    )
    if (count > 0) await session.run(addActive, { ...group, count })
  }
}
