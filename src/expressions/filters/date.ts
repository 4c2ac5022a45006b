/** `date`, in English and without named time zones, whose formatters use megabytes each. */
import { badFilter } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import { type FilterRules, type InnerFilter, liquidText, textOf } from './filter.ts'

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
)
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const DAY_MS = 86_400_000

const hours12 = (hours: number): number => hours % 12 || 12

const dayOfYear = (date: Date): number =>
  Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / DAY_MS) + 1

/** Days before the first `startDay` of the year belong to week 0. */
const weekOfYear = (date: Date, startDay: number): number =>
  Math.floor((dayOfYear(date) + 6 - ((date.getUTCDay() - startDay + 7) % 7)) / 7)

const ordinal = (day: number): string =>
  day >= 11 && day <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][day % 10] ?? 'th')

const two = (number: number): string => String(number).padStart(2, '0')

const zone = (minutes: number, colon: string): string =>
  `${minutes < 0 ? '-' : '+'}${two(Math.floor(Math.abs(minutes) / 60))}${colon}${two(Math.abs(minutes) % 60)}`

/** An instant shifted by `minutes`, printed in UTC. */
interface Shown {
  readonly at: Date
  readonly minutes: number
}

type Conversion = (shown: Shown, flags: string, width: number) => string | number

const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  a: ({ at }) => (DAYS[at.getUTCDay()] as string).slice(0, 3),
  A: ({ at }) => DAYS[at.getUTCDay()] as string,
  b: ({ at }) => (MONTHS[at.getUTCMonth()] as string).slice(0, 3),
  B: ({ at }) => MONTHS[at.getUTCMonth()] as string,
  c: (shown) => printed(shown, '%a %b %e %H:%M:%S %Y'),
  C: ({ at }) => Math.floor(at.getUTCFullYear() / 100),
  d: ({ at }) => at.getUTCDate(),
  e: ({ at }) => at.getUTCDate(),
  h: ({ at }) => (MONTHS[at.getUTCMonth()] as string).slice(0, 3),
  H: ({ at }) => at.getUTCHours(),
  I: ({ at }) => hours12(at.getUTCHours()),
  j: ({ at }) => dayOfYear(at),
  k: ({ at }) => at.getUTCHours(),
  l: ({ at }) => hours12(at.getUTCHours()),
  L: ({ at }) => at.getUTCMilliseconds(),
  m: ({ at }) => at.getUTCMonth() + 1,
  M: ({ at }) => at.getUTCMinutes(),
  N: ({ at }, _flags, width) =>
    String(at.getUTCMilliseconds())
      .padStart(3, '0')
      .slice(0, width || 9)
      .padEnd(width || 9, '0'),
  n: () => '\n',
  p: ({ at }) => (at.getUTCHours() < 12 ? 'AM' : 'PM'),
  P: ({ at }) => (at.getUTCHours() < 12 ? 'am' : 'pm'),
  q: ({ at }) => ordinal(at.getUTCDate()),
  s: ({ at, minutes }) => Math.floor(at.getTime() / 1000) - minutes * 60,
  S: ({ at }) => at.getUTCSeconds(),
  t: () => '\t',
  u: ({ at }) => at.getUTCDay() || 7,
  U: ({ at }) => weekOfYear(at, 0),
  w: ({ at }) => at.getUTCDay(),
  W: ({ at }) => weekOfYear(at, 1),
  x: (shown) => printed(shown, '%m/%d/%y'),
  X: (shown) => printed(shown, '%H:%M:%S'),
  y: ({ at }) => ((at.getUTCFullYear() % 100) + 100) % 100,
  Y: ({ at }) => at.getUTCFullYear(),
  z: ({ minutes }, flags) => zone(minutes, flags.includes(':') ? ':' : ''),
  Z: ({ minutes }) => zone(minutes, ''),
  '%': () => '%',
}

const WIDTHS: Readonly<Record<string, number>> = {
  C: 2,
  d: 2,
  e: 2,
  H: 2,
  I: 2,
  j: 3,
  k: 2,
  l: 2,
  L: 3,
  m: 2,
  M: 2,
  S: 2,
  U: 2,
  W: 2,
  y: 2,
  Y: 4,
}

const padded = (text: string, conversion: string, flags: string, fieldWidth: number): string => {
  const width = flags.includes('-') ? 0 : fieldWidth || (WIDTHS[conversion] ?? 0)
  const blank = flags.includes('_') || (!flags.includes('0') && 'aAbBcehklpP'.includes(conversion))
  if (blank) return text.padStart(width, ' ')
  return text.startsWith('-') ? `-${text.slice(1).padStart(width - 1, '0')}` : text.padStart(width, '0')
}

const cased = (text: string, flags: string): string => {
  if (flags.includes('^')) return text.toUpperCase()
  if (!flags.includes('#')) return text
  return /[a-z]/.test(text) ? text.toUpperCase() : text.toLowerCase()
}

/** strftime(3), with the flags `-`, `_`, `0`, `^`, `#`, `:` and widths. Unknown conversions stay unchanged. */
const printed = (shown: Shown, format: string): string =>
  format.replace(/%([-_0^#:]*)(\d*)[EO]?(.)/g, (all, flags: string, digits: string, conversion: string) => {
    const convert = Object.hasOwn(CONVERSIONS, conversion) ? CONVERSIONS[conversion] : undefined
    if (convert === undefined) return all
    const width = Number(digits)
    if (width > LIMITS.pattern) throw badFilter('date', `pads to at most ${LIMITS.pattern} characters.`)
    return padded(cased(String(convert(shown, flags, width)), flags), conversion, flags, width)
  })

const momentOf = (value: unknown): number => {
  if (value === 'now' || value === 'today') return Date.now()
  if (typeof value === 'number') return value * 1000
  if (typeof value !== 'string' || value.length > LIMITS.pattern) return Number.NaN
  return /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value)
}

/** Minutes east of UTC: from `'+02:00'`, or from a number in the sign of `Date.getTimezoneOffset`. */
const offsetOf = (argument: unknown, name: string): number => {
  if (argument === null || argument === undefined) return 0
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(String(argument)) ?? []
  const east =
    sign === undefined ? -Number(argument) : Number(`${sign}${Number(hours) * 60 + Number(minutes)}`)
  if (typeof argument === 'object' || !Number.isInteger(east) || Math.abs(east) > 1_440)
    throw badFilter(name, `accepts only offsets such as '+02:00' or -120, no names of time zones.`)
  return east === 0 ? 0 : east
}

/** `date: format, offset`: prints `'now'`, seconds since 1970, or a date as text. Other values stay unchanged. */
const date: InnerFilter = (value, args, name) => {
  const format = args[0] == null ? '%A, %B %-e, %Y at %-l:%M %P %z' : textOf(args[0], name)
  if (format.length > LIMITS.pattern)
    throw badFilter(name, `accepts a format of at most ${LIMITS.pattern} characters.`)
  const minutes = offsetOf(args[1], name)
  const at = new Date(momentOf(value) + minutes * 60_000)
  return Number.isNaN(at.getTime())
    ? Array.isArray(value)
      ? liquidText(value)
      : value
    : printed({ at, minutes }, format)
}

export const dateFilters: FilterRules = { date: { run: date, rate: 10, isShallow: true } }
