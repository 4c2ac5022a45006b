import type { RequestEntry } from '../../api/types.ts'

/** Calls in memory: those of about two processes. */
const MAX_CALLS = 20_000

/** The newest calls without a gap, newest first. */
export interface Calls {
  readonly entries: readonly RequestEntry[]
  /** Cursor of older ones; absent: there are none. */
  readonly next: string | undefined
}

/** Calls with a newer page. `isJoined`: the page reaches the calls; otherwise, after a gap, older ones are left out. */
export const mergeNewerPage = (
  calls: Calls,
  page: Calls,
): { readonly calls: Calls; readonly isJoined: boolean } => {
  const known = new Set(calls.entries.map(({ id }) => id))
  const fresh = page.entries.filter(({ id }) => !known.has(id))
  // What became of a call is known only after it was first listed.
  const newest = new Map(page.entries.map((call) => [call.id, call]))
  const isJoined = fresh.length < page.entries.length || page.next === undefined
  if (!isJoined) return { calls: page, isJoined }
  // Processes report by themselves: one of them may be behind.
  const listed = calls.entries.map((call) => newest.get(call.id) ?? call)
  const entries = [...fresh, ...listed].sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? 1 : -1))
  return {
    calls: {
      entries: entries.slice(0, MAX_CALLS),
      next: entries.length > MAX_CALLS ? undefined : calls.next,
    },
    isJoined,
  }
}

export const appendOlderPage = (calls: Calls, page: Calls): Calls => ({
  entries: [...calls.entries, ...page.entries],
  next: calls.entries.length + page.entries.length >= MAX_CALLS ? undefined : page.next,
})
