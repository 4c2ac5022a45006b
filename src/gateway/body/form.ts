import { isUtf8 } from 'node:buffer'
import { AppError } from '../../common/errors.ts'
import { tooMany } from '../../expressions/scan.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { BodyLimits } from './limits.ts'
import { type Plan, planOf, type Replacement } from './plan.ts'

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

/** The values of whole fields that hold `{{` once decoded. At most `most`; throws `bad_expression`, `malformed` and `too_large`. */
export const replaceFields = (
  body: Buffer,
  expressions: Expressions,
  most: number,
): readonly Replacement[] => {
  const fields = body.toString('latin1')
  const replacements: Replacement[] = []
  if (!mayHoldPair(fields)) return replacements
  for (let from = 0; from < fields.length; ) {
    const next = fields.indexOf('&', from)
    const end = next === -1 ? fields.length : next
    const field = fields.slice(from, end)
    const equals = field.indexOf('=')
    const value = equals === -1 ? '' : field.slice(equals + 1)
    if (mayHoldPair(value)) {
      if (replacements.length >= most) throw tooMany()
      const text = decodeField(value)
      const template = expressions.parse(text)
      replacements.push({
        start: from + equals + 1,
        end,
        ids: template.ids,
        text,
        print: (resolve: Resolve, work: Work) => encodeField(template.render(resolve, work)),
      })
    }
    from = end + 1
  }
  return replacements
}

/**
 * Form fields: values that hold `{{` once decoded are evaluated as text and encoded again; names, other values and
 * separators keep their bytes. Throws `bad_expression` and `malformed`.
 */
export const planForm = (body: Buffer, expressions: Expressions, limits: BodyLimits): Plan =>
  planOf(body, replaceFields(body, expressions, limits.expressions), limits.rewrittenBytes, 'latin1')
