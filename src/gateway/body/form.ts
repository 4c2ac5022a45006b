import { tooMany } from '../../expressions/scan.ts'
import type { Expressions, Resolve } from '../../expressions/types.ts'
import type { Work } from '../../expressions/work.ts'
import type { BodyLimits } from './limits.ts'
import { PASS, type Plan, planOf, type Replacement } from './plan.ts'

const PAIR = /(?:\{|%7[bB])(?:\{|%7[bB])/

/** Decodes one field (WHATWG URL, application/x-www-form-urlencoded parsing); `latin1` holds the bytes. */
const decodeField = (latin1: string): string =>
  Buffer.from(
    latin1
      .replaceAll('+', ' ')
      .replace(/%([0-9a-fA-F]{2})/g, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')

const encodeField = (text: string): string =>
  encodeURIComponent(text.toWellFormed())
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+')

/**
 * Form fields: values that hold `{{` once decoded are evaluated as text and encoded again; names, other values and
 * separators keep their bytes. Throws `bad_expression`.
 */
export const planForm = (body: Buffer, expressions: Expressions, limits: BodyLimits): Plan => {
  const fields = body.toString('latin1')
  if (!PAIR.test(fields)) return PASS
  const replacements: Replacement[] = []
  for (let from = 0; from < fields.length; ) {
    const next = fields.indexOf('&', from)
    const end = next === -1 ? fields.length : next
    const field = fields.slice(from, end)
    const equals = field.indexOf('=')
    const value = equals === -1 ? '' : field.slice(equals + 1)
    if (PAIR.test(value)) {
      if (replacements.length >= limits.expressions) throw tooMany()
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
  return planOf(body, replacements, limits.rewrittenBytes, 'latin1')
}
