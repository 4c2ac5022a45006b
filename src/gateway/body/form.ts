import { isUtf8 } from 'node:buffer'
import { AppError } from '../../common/errors.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { Charset } from './content.ts'
import type { Found } from './plan.ts'
import { type ScanLimits, type Scanner, shifted } from './scanner.ts'
import { checked } from './text.ts'

const PAIR = /(?:\{|%7[bB])(?:\{|%7[bB])/

/**
 * Decodes one field (WHATWG URL, application/x-www-form-urlencoded parsing); `latin1` holds the bytes. Throws `malformed`
 * for what is no UTF-8: it would be sent on as something else.
 */
const decodeField = (latin1: string): string => {
  const bytes = Buffer.from(
    latin1
      .replaceAll('+', ' ')
      .replace(/%([0-9a-fA-F]{2})/g, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )
  if (!isUtf8(bytes))
    throw new AppError(
      'malformed',
      'A form field that holds an expression is not UTF-8. Send the form as UTF-8.',
    )
  return bytes.toString('utf8')
}

const encodeField = (text: string): string =>
  encodeURIComponent(text.toWellFormed())
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+')

/** Whether a field's value may hold `{{` once decoded; `latin1` holds the bytes. */
export const mayHoldPair = (latin1: string): boolean => PAIR.test(latin1)

/** The values of whole fields that hold `{{` once decoded. */
const replaceFields = (body: Buffer, charset: Charset, expressions: Expressions): readonly Found[] => {
  const fields = body.toString('latin1')
  const found: Found[] = []
  if (!mayHoldPair(fields)) return found
  for (let from = 0; from < fields.length; ) {
    const next = fields.indexOf('&', from)
    const end = next === -1 ? fields.length : next
    const field = fields.slice(from, end)
    const equals = field.indexOf('=')
    const value = equals === -1 ? '' : field.slice(equals + 1)
    if (mayHoldPair(value)) {
      const parse = () => {
        const text = decodeField(value)
        const template = expressions.parse(text)
        const print = (resolve: Resolve, work: Work) => {
          const rendered = template.render(resolve, work)
          return encodeField(charset === 'utf8' ? rendered : checked(rendered, 'ascii'))
        }
        return { ids: template.ids, texts: [text], print }
      }
      found.push({ start: from + equals + 1, end, parse })
    }
    from = end + 1
  }
  return found
}

const fieldTooLong = (limit: number) =>
  new AppError(
    'too_large',
    `A form field with an expression in it is longer than ${limit} bytes. Send the body without streaming.`,
  )

/** The longest `{{` in a field's value, less one: `%7b%7`. */
const FORM_OVERLAP = 5

/**
 * Form fields: values that hold `{{` once decoded are evaluated as text and encoded again; names, other values and
 * separators keep their bytes. Of a field that is too long to be held only that it holds no expression is decided.
 */
export const createForm = (charset: Charset, expressions: Expressions, { longest }: ScanLimits): Scanner => {
  /** Within a field that is too long: behind its `=` or not. */
  let long: 'name' | 'value' | undefined
  let overlap = ''

  /** Goes on in a long field to its end. */
  const passLong = (text: string): number => {
    const next = text.indexOf('&')
    const end = next === -1 ? text.length : next
    let from = 0
    if (long === 'name') {
      from = text.indexOf('=') + 1
      if (from === 0 || from > end) from = end
      else long = 'value'
    }
    if (long === 'value') {
      const seen = overlap + text.slice(from, end)
      if (mayHoldPair(seen)) throw fieldTooLong(longest)
      overlap = seen.slice(-FORM_OVERLAP)
    }
    if (next !== -1) long = undefined
    return end
  }

  const scan: Scanner['scan'] = (bytes, isLast) => {
    const from = long === undefined ? 0 : passLong(bytes.toString('latin1'))
    const cut = isLast ? bytes.length : Math.max(from, bytes.lastIndexOf('&') + 1)
    const whole = bytes.subarray(from, cut)
    const found = replaceFields(whole, charset, expressions).map((one) => shifted(one, from))
    for (const { start, end } of found)
      if (end - bytes.lastIndexOf('&', start - 1) - 1 > longest) throw fieldTooLong(longest)
    if (long !== undefined || bytes.length - cut <= longest) return { end: cut, found }
    long = 'name'
    overlap = ''
    return { end: cut + passLong(bytes.toString('latin1', cut)), found }
  }
  return { encoding: 'latin1', mayHold: (bytes) => mayHoldPair(bytes.toString('latin1')), scan }
}
