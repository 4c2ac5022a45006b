import { AppError } from '../../common/errors.ts'
import type { ChangeCounters } from '../change-counters.ts'
import { allChanges } from '../changes.ts'
import type { Session } from '../session.ts'
import type { Writer } from '../writer.ts'

/** ms between two reads of the counters. */
const POLL_MS = 200
/** ms for which a read is valid, from its start: a change takes effect everywhere within a second. */
const MAX_AGE_MS = 800
/** Reads for one call: a slow one is stale when it arrives. */
const ATTEMPTS = 2

interface Read {
  readonly number: number
  readonly began: number
  readonly versions: Promise<ReadonlyMap<string, number>>
}

interface WatchedChanges {
  readonly changes: ChangeCounters
  /** ms until every process knows of a change. */
  readonly changesWithinMs: number
  /** The watched writer; its own writes count at once. */
  readonly writer: Writer
  close(): void
}

const stale = () =>
  new AppError('overloaded', 'The store responds too slowly to read its change counters. Retry shortly.', {
    retryAfter: 1,
  })

/**
 * Change counters read in advance, every 200 ms. Values older than 800 ms are read again; when that fails, the call
 * fails. `now`: ms of a monotonic clock.
 */
export const watchChanges = ({
  session,
  writer,
  now = () => performance.now(),
}: {
  readonly session: Session
  readonly writer: Writer
  readonly now?: () => number
}): WatchedChanges => {
  let known: { readonly began: number; readonly versions: ReadonlyMap<string, number> } | undefined
  let newest: Read | undefined
  let reads = 0
  /** Reads up to this one started before a change and may have missed it. */
  let outdated = 0

  const read = (): Read => {
    const number = ++reads
    const began = now()
    const versions = (async () => {
      const rows = await session.all(allChanges, {})
      return new Map(rows.map(({ kind, version }) => [kind, version]))
    })()
    const current: Read = { number, began, versions }
    newest = current
    versions
      .then((counters) => {
        if (number > outdated && (known === undefined || known.began <= began))
          known = { began, versions: counters }
      })
      .catch(() => {})
      .finally(() => {
        if (newest === current) newest = undefined
      })
    return current
  }

  const invalidate = (): void => {
    known = undefined
    outdated = reads
  }

  /** A running read that started after every known change, and recently. */
  const joinable = (): Read | undefined =>
    newest !== undefined && newest.number > outdated && now() - newest.began <= POLL_MS ? newest : undefined

  const current = async (): Promise<ReadonlyMap<string, number>> => {
    for (let left = ATTEMPTS; left > 0; left--) {
      if (known !== undefined && now() - known.began <= MAX_AGE_MS) return known.versions
      const { began, versions } = joinable() ?? read()
      const counters = await versions
      // A change during the read was not in effect when the call started.
      if (now() - began <= MAX_AGE_MS) return counters
    }
    throw stale()
  }

  const timer = setInterval(() => {
    if (newest === undefined || now() - newest.began > MAX_AGE_MS) read()
  }, POLL_MS).unref()

  return {
    changesWithinMs: MAX_AGE_MS + POLL_MS,
    changes: {
      sum: async (kinds) => {
        if (kinds.length === 0) return 0
        const versions = await current()
        return kinds.reduce((sum, kind) => sum + (versions.get(kind) ?? 0), 0)
      },
    },
    writer: {
      write: async (command, ...args) => {
        try {
          return await writer.write(command, ...args)
        } finally {
          if (command.movesCounters) invalidate()
        }
      },
      close: () => writer.close(),
    },
    close: () => clearInterval(timer),
  }
}
