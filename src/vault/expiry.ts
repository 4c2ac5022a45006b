/**
 * The date formats of `expires_at` and of date searches (completions §5): ISO 8601, and `8/26/2030 7:23:57 PM -07:00`
 * with time and offset optional. Without an offset a time is UTC.
 */

const ISO =
  /^(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})(?:[Tt ](?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d{1,9}))?)?[ ]?(?<zone>[Zz]|[+-]\d{2}:?\d{2})?)?$/
const US =
  /^(?<month>\d{1,2})\/(?<day>\d{1,2})\/(?<year>\d{4})(?: (?<hour>\d{1,2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:\.(?<fraction>\d{1,9}))?)?(?: ?(?<half>[AaPp][Mm]))?(?: ?(?<zone>[Zz]|[+-]\d{2}:?\d{2}))?)?$/

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

interface Instant {
  /** ms since the epoch. */
  readonly from: number
  /** The first ms after it: a date without time lasts a day, a time a millisecond. */
  readonly until: number
}

/** Minutes east of UTC, or undefined when no such offset exists. */
const offsetOf = (zone: string | undefined): number | undefined => {
  if (zone === undefined || zone.toUpperCase() === 'Z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(-2))
  if (hours > 14 || minutes > 59) return undefined
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

const hourOf = (hour: number, half: string | undefined): number | undefined => {
  if (half === undefined) return hour <= 23 ? hour : undefined
  if (hour < 1 || hour > 12) return undefined
  return (hour % 12) + (half.toUpperCase() === 'PM' ? 12 : 0)
}

/** Parses a point in time; undefined when the date does not exist. */
export const parseInstant = (text: string): Instant | undefined => {
  if (text.length > 50) return undefined
  const groups = (ISO.exec(text) ?? US.exec(text))?.groups
  if (!groups) return undefined
  const [year, month, day] = [Number(groups.year), Number(groups.month), Number(groups.day)]
  const [minute, second] = [Number(groups.minute ?? 0), Number(groups.second ?? 0)]
  const hour = hourOf(Number(groups.hour ?? 0), groups.half)
  const offset = offsetOf(groups.zone)
  if (hour === undefined || offset === undefined || minute > 59 || second > 59) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  date.setUTCHours(hour, minute, second, Number((groups.fraction ?? '').padEnd(3, '0').slice(0, 3)))
  const from = date.getTime() - offset * MINUTE
  return { from, until: from + (groups.hour === undefined ? DAY : 1) }
}
