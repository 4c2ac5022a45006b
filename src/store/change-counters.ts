import { allChanges, totalOfChanges } from './records/statements.ts'
import type { Session } from './session.ts'
import type { Writer } from './writer.ts'

/** The change counters: how often what is kept under each name was written. */
export interface ChangeCounters {
  /** The sum of some; 0 for names that were never written. */
  sum(kinds: readonly string[]): Promise<number>
}

type Counters = ReadonlyMap<string, number>

/** All counters, as they are when asked. They only grow: while their total stands still, none has moved. */
const readCounters = ({ session }: { readonly session: Session }): (() => Promise<Counters>) => {
  let known: { readonly total: number; readonly counters: Counters } | undefined
  return async () => {
    const total = Number((await session.get(totalOfChanges, {}))?.total ?? 0)
    if (known?.total !== total) {
      // What moves in between is read too, and the total then differs the next time.
      const rows = await session.all(allChanges, {})
      known = { total, counters: new Map(rows.map(({ kind, version }) => [kind, Number(version)])) }
    }
    return known.counters
  }
}

const sumOf = (counters: Counters, kinds: readonly string[]): number =>
  kinds.reduce((sum, kind) => sum + (counters.get(kind) ?? 0), 0)

/** Reads anew for each question. */
export const createChangeCounters = (deps: { readonly session: Session }): ChangeCounters => {
  const read = readCounters(deps)
  return { sum: async (kinds) => (kinds.length === 0 ? 0 : sumOf(await read(), kinds)) }
}

/**
 * For the process that writes: one read answers all who ask within a turn of the event loop, unless a write of the
 * process is answered in between (through the `writer` given back). So a change that a caller was told of is seen by
 * whatever comes after, and one of another process a turn later at most.
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
  const forget = (): void => {
    all = undefined
  }
  return {
    changes: {
      sum: async (kinds) => {
        if (all === undefined) {
          all = read()
          setImmediate(forget)
        }
        return sumOf(await all, kinds)
      },
    },
    writer: {
      write: (...args) => writer.write(...args).finally(forget),
      close: () => writer.close(),
    },
  }
}
