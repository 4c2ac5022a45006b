import { MAX_PLACES, needsPlaces, pointerOf, stringsOf, withPlaces } from '../common/error-places.ts'
import { AppError, invalid } from '../common/errors.ts'
import { mapInTurns, yieldIfDue } from '../common/event-loop.ts'
import { deeperThan, type Json } from '../common/json.ts'
import { mayHoldExpression, type Resolve } from '../expressions/types.ts'
import { bodyWork } from '../expressions/work.ts'
import type { UseContext } from '../sdk/index.ts'
import { createMemoryBudget } from './memory-budget.ts'
import { type Resolved, resolveTokens } from './use.ts'
import type { VaultDeps } from './vault-deps.ts'

/** Copies `body` with each string value replaced by `replace`; shape and member names stay. */
const mapStrings = (body: Json, replace: (text: string) => Json): Json => {
  if (typeof body === 'string') return replace(body)
  if (Array.isArray(body)) return body.map((item: Json) => mapStrings(item, replace))
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, mapStrings(value, replace)]))
}

/** Strings that may hold expressions, with their number of occurrences. */
const countTexts = async (body: Json): Promise<ReadonlyMap<string, number>> => {
  const counts = new Map<string, number>()
  const open: Json[] = [body]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    const pause = yieldIfDue()
    if (pause) await pause
    if (typeof value === 'string') {
      if (mayHoldExpression(value)) counts.set(value, (counts.get(value) ?? 0) + 1)
    } else if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(value)) open.push(inner)
  }
  return counts
}

/** The error with the JSON pointers of the strings that `isCause` selects. */
const located = async (thrown: unknown, body: Json, isCause: (text: string) => boolean): Promise<unknown> => {
  if (!(thrown instanceof AppError) || !needsPlaces(thrown)) return thrown
  const path: (string | number)[] = []
  const places: string[] = []
  for (const text of stringsOf(body, path)) {
    const pause = yieldIfDue()
    if (pause) await pause
    if (isCause(text)) places.push(pointerOf(path))
    if (places.length === MAX_PLACES) break
  }
  return withPlaces(thrown, places)
}

const occurrences = (text: string, part: string): number => text.split(part).length - 1

/** `Vault.detokenize`. */
export const detokenizeBody = async (
  deps: VaultDeps,
  body: Json,
  context: UseContext,
  permission: 'token:read' | 'token:use' = 'token:read',
): Promise<Json> => {
  if (deeperThan(body, deps.limits.depth))
    throw invalid({ '': [`must not nest deeper than ${deps.limits.depth}`] })
  const counts = await countTexts(body)
  if (counts.size === 0) return body
  const { work = bodyWork() } = context
  /** The text that is evaluated now. */
  let current = ''
  /** Errors name the places of the current text. */
  const placed = async <T, R>(items: readonly T[], make: (item: T) => R): Promise<readonly R[]> => {
    try {
      return await mapInTurns(items, make)
    } catch (thrown) {
      throw await located(thrown, body, (text) => text === current)
    }
  }
  const texts = await placed([...counts], ([text, count]) => {
    current = text
    const template = deps.expressions.parse(text, work)
    return { text, count, template }
  })
  const ids = new Set(texts.flatMap(({ template }) => template.ids))
  const toValue = ({ data, toToken }: Resolved) => ({ data, toToken })
  const resolved = await resolveTokens(deps, [...ids], permission, { ...context, work }, toValue).catch(
    async (thrown: unknown): Promise<never> => {
      const named = new Set(thrown instanceof AppError ? thrown.tokens : undefined)
      const causes = texts.filter(({ template }) => template.ids.some((id) => named.has(id)))
      const causeTexts = new Set(causes.map(({ text }) => text))
      throw await located(thrown, body, (text) => causeTexts.has(text))
    },
  )

  const values = new Map<string, { readonly data: Json; readonly token: Json; readonly size: number }>()
  await mapInTurns([...resolved], ([id, { data, toToken }]) => {
    const token = toToken()
    values.set(id, { data, token, size: JSON.stringify(token).length })
  })
  const resolve: Resolve = (id) => values.get(id)

  let left = deps.limits.detokenized
  const fits = (size: number): void => {
    if (size > left)
      throw new AppError(
        'too_large',
        'The detokenized body would be too large. Detokenize fewer tokens at once.',
      )
  }
  const hold = createMemoryBudget(deps, context)
  const results = new Map<string, Json>()
  await placed(texts, ({ text, count, template }) => {
    current = text
    // Checked before evaluating: a short text can repeat a large value many times.
    const largest = Math.max(0, ...template.ids.map((id) => values.get(id)?.size ?? 0))
    fits(largest * occurrences(text, '{{'))
    const value = template.evaluate(resolve, work)
    const size = JSON.stringify(value).length * count
    fits(size)
    left -= size
    hold(size)
    results.set(text, value)
  })
  return mapStrings(body, (text) => results.get(text) ?? (results.has(text) ? null : text))
}
