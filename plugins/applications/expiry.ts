import { parseIsoTime } from '#kit'
import { invalid } from '#sdk'

/** ISO 8601 (UTC unless it says otherwise) → ms since the epoch, after `now`; else `invalid` at `expires_at`. */
export const parseExpiry = (text: string, now: number): number => {
  const instant = parseIsoTime(text)
  if (instant === undefined)
    throw invalid({ expires_at: ['must be an ISO 8601 date-time, e.g. 2030-01-31T12:00:00Z'] })
  if (instant <= now) throw invalid({ expires_at: ['must lie in the future'] })
  return instant
}
