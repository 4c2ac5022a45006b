import { allChanges, sumOfChanges } from './records/statements.ts'
import type { Session, Writer } from './session.ts'

/** The change counters: how often what is kept under each name was written. */
export interface Changes {
  /** The sum of some; 0 for names that were never written. */
  sum(kinds: readonly string[]): Promise<number>
}

/** Reads anew for each question. */
export const createChanges = ({ session }: { readonly session: Session }): Changes => {
  // Callers ask with the same array on every request.
  const lists = new WeakMap<readonly string[], unknown>()
  const listOf = (kinds: readonly string[]): unknown => {
    const known = lists.get(kinds)
    if (known !== undefined) return known
    const list = session.dialect.list(kinds)
    if (Object.isFrozen(kinds)) lists.set(kinds, list)
    return list
  }
  return {
    sum: async (kinds) => {
      if (kinds.length === 0) return 0
      return Number((await session.get(sumOfChanges, { kinds: listOf(kinds) }))?.total ?? 0)
    },
  }
}

/**
 * For the process that writes: one read answers all who ask within a turn of the event loop, unless a write of the
 * process is answered in between (through the `writer` given back). So a change that a caller was told of is seen by
 * whatever comes after, and one of another process a turn later at most.
 */
export const shareChanges = ({
  session,
  writer,
}: {
  readonly session: Session
  readonly writer: Writer
}): { readonly changes: Changes; readonly writer: Writer } => {
  let all: Promise<ReadonlyMap<string, number>> | undefined
  const forget = (): void => {
    all = undefined
  }
  const read = async (): Promise<ReadonlyMap<string, number>> =>
    new Map((await session.all(allChanges, {})).map(({ kind, version }) => [kind, Number(version)]))
  return {
    changes: {
      sum: async (kinds) => {
        if (all === undefined) {
          all = read()
          setImmediate(forget)
        }
        const versions = await all
        return kinds.reduce((sum, kind) => sum + (versions.get(kind) ?? 0), 0)
      },
    },
    writer: {
      write: (command, args, bytes) => writer.write(command, args, bytes).finally(forget),
      close: () => writer.close(),
    },
  }
}
