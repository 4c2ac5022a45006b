import { isUtf8 } from 'node:buffer'
import { AppError } from '../../common/errors.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { BodyLimits } from './limits.ts'
import { type Found, findInSlices, type Plan, planOf } from './plan.ts'

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
export const replaceFields = (body: Buffer, expressions: Expressions): readonly Found[] => {
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
        const print = (resolve: Resolve, work: Work) => encodeField(template.render(resolve, work))
        return { ids: template.ids, text, print }
      }
      found.push({ start: from + equals + 1, end, parse })
    }
    from = end + 1
  }
  return found
}

/**
 * Form fields: values that hold `{{` once decoded are evaluated as text and encoded again; names, other values and
 * separators keep their bytes. Rejects with `bad_expression`, `malformed` and `too_large`.
 */
export const planForm = async (body: Buffer, expressions: Expressions, limits: BodyLimits): Promise<Plan> => {
  const found = await findInSlices(body, limits.expressions, (slice, isLast) => {
    const end = isLast ? slice.length : slice.lastIndexOf('&') + 1
    return { end, found: replaceFields(slice.subarray(0, end), expressions) }
  })
  return planOf(body, found, limits.rewrittenBytes, 'latin1')
}
