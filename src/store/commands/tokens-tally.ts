import type { Session } from '../session.ts'
import { countedToken } from '../tokens/counted.ts'
import { type CountedRecord, newestTokens, termsOf, tokenAt } from '../tokens/statements.ts'
import {
  common,
  dropEmptyTallies,
  emptyTally,
  entryOf,
  isShared,
  startTally,
  TALLIES_LOCK,
  valuesOf,
} from '../tokens/tallies.ts'

/** As many of the newest tokens, and as many from anywhere. */
export const samplesOf = async (session: Session, size: number) => {
  const records: CountedRecord[] = [...(await session.all(newestTokens, { limit: size }))]
  for (let index = 0; index < size; index++) {
    const record = await session.get(tokenAt, { share: Math.random() })
    if (record) records.push(record)
  }
  const seqs = session.dialect.list(records.map(({ seq }) => seq))
  const terms = Map.groupBy(await session.all(termsOf, { seqs }), ({ seq }) => seq)
  return records.map((record) => countedToken(record, terms.get(record.seq) ?? []))
}

/**
 * Looks at `size` of the newest tokens and at as many others for a value that `common` have and that is not counted, and counts it:
 * a value that one token in a hundred has is found within a few calls. True when there may be more.
 */
export const tallyTokens = async (
  session: Session,
  { size, common: tokens }: { readonly size: number; readonly common: number },
): Promise<boolean> => {
  const seen = new Set<string>()
  for (const sample of await samplesOf(session, size))
    for (const value of valuesOf(sample)) {
      const { tenant_id } = sample
      const key = `${tenant_id} ${entryOf(value)}`
      if (seen.has(key)) continue
      seen.add(key)
      const known = async () => (await common(session, tenant_id, [value])).size > 0
      if ((await known()) || !(await isShared(session, tenant_id, value, tokens))) continue
      await session.lock(TALLIES_LOCK)
      if (!(await known())) await startTally(session, tenant_id, value)
      return true
    }
  return false
}

/** Values that no token has any more are not counted any longer. */
export const dropTallies = async (session: Session): Promise<void> => {
  if (!(await session.get(emptyTally, {}))) return
  await session.lock(TALLIES_LOCK)
  await session.run(dropEmptyTallies, {})
}
