import { AppError } from '../../common/errors.ts'
import type { ChangeCounters } from '../change-counters.ts'
import { allChanges } from '../records/statements.ts'
import type { Session } from '../session.ts'
import type { Writer } from '../writer.ts'
import { movesCounters } from './transaction.ts'

/** ms between two looks at the counters. */
const POLL_MS = 200
/** ms that what a look found may be used for, from its beginning: with them a change is in force everywhere within a second. */
export const MAX_AGE_MS = 800
/** Looks of one question: each may take too long to be of use. */
const LOOKS = 2

interface Look {
  readonly number: number
  readonly began: number
  readonly versions: Promise<ReadonlyMap<string, number>>
}

export interface WatchedChanges {
  readonly changes: ChangeCounters
  /** The same writer; what it has written counts at once. */
  readonly writer: Writer
  /** Another process has changed something: nothing known so far is used any more. */
  changed(): void
  close(): void
}

const stale = () =>
  new AppError('overloaded', 'The store answers too slowly to know what is in force. Retry shortly.', {
    retryAfter: 1,
  })

/**
 * The counters, known ahead of the question: read every 200 ms, and as soon as somebody says that they have moved. What
 * is older than 800 ms is read anew, and where that cannot be done the question fails. `now`: ms of any clock that only
 * goes forward. `onMoved`: called after a write of this process has moved a counter.
 */
export const watchChanges = (
  {
    session,
    writer,
    now = () => performance.now(),
  }: { readonly session: Session; readonly writer: Writer; readonly now?: () => number },
  { onMoved = () => {} }: { readonly onMoved?: () => void } = {},
): WatchedChanges => {
  let known: { readonly began: number; readonly versions: ReadonlyMap<string, number> } | undefined
  let newest: Look | undefined
  let looks = 0
  /** Looks up to this one began before something moved, and may have missed it. */
  let outdated = 0

  const look = (): Look => {
    const number = ++looks
    const began = now()
    const versions = session
      .all(allChanges, {})
      .then((rows) => new Map(rows.map(({ kind, version }) => [kind, version])))
    const current: Look = { number, began, versions }
    newest = current
    versions
      .then((found) => {
        if (number > outdated && (known === undefined || known.began <= began))
          known = { began, versions: found }
      })
      .catch(() => {})
      .finally(() => {
        if (newest === current) newest = undefined
      })
    return current
  }

  const forget = (): void => {
    known = undefined
    outdated = looks
  }

  /** One on its way that began after all that is known to have moved, and not long ago. */
  const joinable = (): Look | undefined =>
    newest !== undefined && newest.number > outdated && now() - newest.began <= POLL_MS ? newest : undefined

  const current = async (): Promise<ReadonlyMap<string, number>> => {
    for (let left = LOOKS; left > 0; left--) {
      if (known !== undefined && now() - known.began <= MAX_AGE_MS) return known.versions
      const { began, versions } = joinable() ?? look()
      const found = await versions
      // What moved meanwhile was not in force when the question was asked.
      if (now() - began <= MAX_AGE_MS) return found
    }
    throw stale()
  }

  const changed = (): void => {
    forget()
    // Under many changes the next question looks by itself.
    if (newest === undefined) look()
  }

  const timer = setInterval(() => {
    if (newest === undefined || now() - newest.began > MAX_AGE_MS) look()
  }, POLL_MS).unref()

  return {
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
          if (movesCounters(command)) {
            forget()
            onMoved()
          }
        }
      },
      close: () => writer.close(),
    },
    changed,
    close: () => clearInterval(timer),
  }
}
