import { type Eventual, whenReady } from '../common/eventual.ts'
import { allChanges, totalOfChanges } from './changes.ts'
import type { Session } from './session.ts'
import type { Writer } from './writer.ts'

/** Change counters: how often the rows under each name were written. */
export interface ChangeCounters {
  /** Sum of the counters; 0 for names that were never written. */
  sum(kinds: readonly string[]): Eventual<number>
}

type Counters = ReadonlyMap<string, number>

/** Reads all counters. They only grow, so an unchanged total means that none has changed. */
const readCounters = ({ session }: { readonly session: Session }): (() => Eventual<Counters>) => {
  let known: { readonly total: number; readonly counters: Counters } | undefined
  return () =>
    whenReady(session.get(totalOfChanges, {}), (row) => {
      const total = Number(row?.total ?? 0)
      if (known?.total === total) return known.counters
      // A change during the read is included, and the total then differs next time.
      return whenReady(session.all(allChanges, {}), (rows) => {
        const counters = new Map(rows.map(({ kind, version }) => [kind, Number(version)]))
        known = { total, counters }
        return counters
      })
    })
}

const sumOf = (counters: Counters, kinds: readonly string[]): number =>
  kinds.reduce((sum, kind) => sum + (counters.get(kind) ?? 0), 0)

/**
 * Reads the counters once for each callback of the event loop, at their first use in it. A request had arrived before
 * the callback that reads it started, so the counters include every change acknowledged before the request was sent.
 */
export const createChangeCounters = (deps: { readonly session: Session }): ChangeCounters => {
  const read = readCounters(deps)
  let shared: Eventual<Counters> | undefined
  const forget = (): void => {
    shared = undefined
  }
  const current = (): Eventual<Counters> => {
    if (shared === undefined) {
      shared = read()
      // Runs when the callback and its microtasks are over, before the next one starts.
      process.nextTick(forget)
    }
    return shared
  }
  return {
    sum: (kinds) => (kinds.length === 0 ? 0 : whenReady(current(), (counters) => sumOf(counters, kinds))),
  }
}

/**
 * For the writing process: calls within one turn of the event loop share one read, unless a write of the process
 * (through the returned `writer`) is acknowledged in between. An acknowledged change is visible to everything after it;
 * a change by another process at most one turn later.
 */
export const shareChangeCounters = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): { readonly changes: ChangeCounters; readonly writer: Writer } => {
  const read = readCounters({ session })
  let all: Eventual<Counters> | undefined
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
