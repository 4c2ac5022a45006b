import { html, type TemplateResult } from './html.ts'
import { signal } from './signals.ts'

/** Relative times are made again so often, in ms. */
const TICK_MS = 10_000

/** The present, for relative times. */
export const now = signal(Date.now())

if (globalThis.document !== undefined)
  setInterval(() => {
    if (document.visibilityState === 'visible') now.value = Date.now()
  }, TICK_MS)

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const EXACT = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'long',
})

const UNITS: readonly (readonly [unit: Intl.RelativeTimeFormatUnit, seconds: number])[] = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** `5 minutes ago`, `in 3 days`; `just now` within ten seconds, as clocks differ. */
const formatRelative = (at: number, from: number): string => {
  const seconds = (at - from) / 1_000
  const size = Math.abs(seconds)
  if (size < 10) return 'just now'
  for (const [unit, length] of UNITS)
    if (size >= length) return RELATIVE.format(Math.trunc(seconds / length), unit)
  return RELATIVE.format(Math.trunc(seconds), 'second')
}

/** A time: relative, with the exact one on hover. ms since the epoch, or ISO 8601. Other text is shown as it is. */
export const relativeTime = (time: number | string | undefined): TemplateResult => {
  if (time === undefined) return html`<span class="soft">–</span>`
  const at = typeof time === 'number' ? time : Date.parse(time)
  if (Number.isNaN(at)) return html`${time}`
  const date = new Date(at)
  return html`<time datetime=${date.toISOString()} title=${EXACT.format(date)}
    >${formatRelative(at, now.value)}</time
  >`
}

/** The exact time as text, in the reader's zone. */
export const exactTime = (time: number | string): string => {
  const at = typeof time === 'number' ? time : Date.parse(time)
  return Number.isNaN(at) ? String(time) : EXACT.format(new Date(at))
}

const two = (value: number): string => String(value).padStart(2, '0')

/** An ISO time as the value of a `datetime-local` input: in the reader's zone, by the minute. */
export const toLocal = (iso: string | undefined): string => {
  const at = new Date(iso ?? Number.NaN)
  return Number.isNaN(at.getTime())
    ? ''
    : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`
}

/**
 * The value of a `datetime-local` input as an ISO time. The input holds no seconds: those of `shown`, its first time,
 * stay until it changes.
 */
export const fromLocal = (value: string, shown?: string): string | undefined => {
  if (shown !== undefined && value === toLocal(shown)) return shown
  const at = new Date(value)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
