import { AppError, invalid } from '../common/errors.ts'
import { deeperThan, type Json } from '../common/json.ts'
import { mayHoldExpression, type Resolve, type Template } from '../expressions/types.ts'
import { bodyWork } from '../expressions/work.ts'
import type { UseContext } from '../sdk/index.ts'
import type { Parts } from './parts.ts'
import { resolveTokens } from './use.ts'

/** Every string value inside `body` as `replace` gives it; shape and member names stay. */
const mapStrings = (body: Json, replace: (text: string) => Json): Json => {
  if (typeof body === 'string') return replace(body)
  if (Array.isArray(body)) return body.map((item: Json) => mapStrings(item, replace))
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, mapStrings(value, replace)]))
}

const occurrences = (text: string, part: string): number => text.split(part).length - 1

/** `Vault.detokenize`. */
export const detokenizeBody = async (
  parts: Parts,
  body: Json,
  context: UseContext,
  permission: 'token:read' | 'token:use' = 'token:read',
): Promise<Json> => {
  if (deeperThan(body, parts.limits.depth))
    throw invalid({ '': [`must not nest deeper than ${parts.limits.depth}`] })
  const templates = new Map<string, Template>()
  const ids = new Set<string>()
  mapStrings(body, (text) => {
    if (!mayHoldExpression(text) || templates.has(text)) return text
    const template = parts.expressions.parse(text)
    templates.set(text, template)
    for (const id of template.ids) ids.add(id)
    return text
  })
  if (templates.size === 0) return body
  const resolved = await resolveTokens(parts, [...ids], permission, context)

  const values = new Map<string, { readonly data: Json; readonly token: Json; readonly size: number }>()
  for (const [id, { data, whole }] of resolved) {
    const token = whole()
    values.set(id, { data, token, size: JSON.stringify(token).length })
  }
  const resolve: Resolve = (id) => values.get(id)
  const work = bodyWork()

  let left = parts.limits.detokenized
  const fits = (size: number): void => {
    if (size > left)
      throw new AppError(
        'too_large',
        'The detokenized body would be too large. Detokenize fewer tokens at once.',
      )
  }
  const results = new Map<string, { readonly value: Json; readonly size: number }>()
  const evaluated = (text: string, template: Template) => {
    // Checked before evaluating: a short text can repeat a large value many times.
    const largest = Math.max(0, ...template.ids.map((id) => values.get(id)?.size ?? 0))
    fits(largest * occurrences(text, '{{'))
    const value = template.evaluate(resolve, work)
    const result = { value, size: JSON.stringify(value).length }
    results.set(text, result)
    return result
  }
  return mapStrings(body, (text) => {
    const template = templates.get(text)
    if (!template) return text
    const { value, size } = results.get(text) ?? evaluated(text, template)
    fits(size)
    left -= size
    return value
  })
}
