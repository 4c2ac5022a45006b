import { invalid } from '#sdk'

const ISO = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/i

/** ISO 8601 (UTC unless it says otherwise) → ms since the epoch, after `now`; else `invalid` at `expires_at`. */
export const parseExpiry = (text: string, now: number): number => {
  const [, date, time = '00:00', offset = 'Z'] = ISO.exec(text) ?? []
  const day = Date.parse(`${date}T00:00:00Z`)
  const instant = Date.parse(`${date}T${time}${offset}`)
  // A day that its month does not have is rolled over by Date.
  const exists = !Number.isNaN(day) && new Date(day).toISOString().slice(0, 10) === date
  if (!exists || Number.isNaN(instant))
    throw invalid({ expires_at: ['must be an ISO 8601 date-time, e.g. 2030-01-31T12:00:00Z'] })
  if (instant <= now) throw invalid({ expires_at: ['must lie in the future'] })
  return instant
}
