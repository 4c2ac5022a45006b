import { allChanges, totalOfChanges } from './records/statements.ts'
import type { Session } from './session.ts'
import type { Writer } from './writer.ts'

/** Change counters: how often the rows under each name were written. */
export interface ChangeCounters {
  /** Sum of the counters; 0 for names that were never written. */
  sum(kinds: readonly string[]): Promise<number>
}

type Counters = ReadonlyMap<string, number>

/** Reads all counters. They only grow, so an unchanged total means that none has changed. */
const readCounters = ({ session }: { readonly session: Session }): (() => Promise<Counters>) => {
  let known: { readonly total: number; readonly counters: Counters } | undefined
  return async () => {
    const total = Number((await session.get(totalOfChanges, {}))?.total ?? 0)
    if (known?.total !== total) {
      // A change during the read is included, and the total then differs next time.
      const rows = await session.all(allChanges, {})
      known = { total, counters: new Map(rows.map(({ kind, version }) => [kind, Number(version)])) }
    }
    return known.counters
  }
}

const sumOf = (counters: Counters, kinds: readonly string[]): number =>
  kinds.reduce((sum, kind) => sum + (counters.get(kind) ?? 0), 0)

/** Reads the counters for each call. */
export const createChangeCounters = (deps: { readonly session: Session }): ChangeCounters => {
  const read = readCounters(deps)
  return { sum: async (kinds) => (kinds.length === 0 ? 0 : sumOf(await read(), kinds)) }
}

/**
 * For the writing process: calls within one turn of the event loop share one read, unless a write of the process (through
 * the returned `writer`) is acknowledged in between. An acknowledged change is visible to everything after it; a change
 * by another process at most one turn later.
 */
export const shareChangeCounters = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): { readonly changes: ChangeCounters; readonly writer: Writer } => {
  const read = readCounters({ session })
  let all: Promise<Counters> | undefined
  const invalidate = (): void => {
    all = undefined
  }
  return {
    changes: {
      sum: async (kinds) => {
        if (all === undefined) {
          all = read()
          setImmediate(invalidate)
        }
        return sumOf(await all, kinds)
      },
    },
    writer: {
      write: (...args) => writer.write(...args).finally(invalidate),
      close: () => writer.close(),
    },
  }
}
