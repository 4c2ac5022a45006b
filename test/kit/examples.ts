import assert from 'node:assert/strict'
import { isObject } from '../../src/common/json.ts'
import type { Example, Operation } from '../../src/sdk/index.ts'

/** Values that differ in each service: those of an example stand for those of the response. */
const MADE = {
  id: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  key: /^key_[1-9A-HJ-NP-Za-km-z]+$/,
  sessionKey: /^key_sess_[1-9A-HJ-NP-Za-km-z]+$/,
  time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/,
  traceId: /^[0-9a-f]{32}$/,
  opaque: /^[1-9A-HJ-NP-Za-km-z]{20,60}$/,
  webhookSecret: /^whsec_[A-Za-z0-9+/]{43}=$/,
  cursor: /^[A-Za-z0-9_-]{40,}$/,
}

const kindOf = (text: string) => Object.entries(MADE).find(([, pattern]) => pattern.test(text))?.[0]

/** Numbers that depend on all that happened before. */
const COUNTS = ['total_items', 'total_pages', 'count', 'monthly_active_tokens', 'total_tokens']

/** Values of one service for the placeholders of examples. */
export type Names = Map<string, string>

const stringsIn = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(stringsIn)
      : []

/** A word of a text that stands for something made: expressions hold ids too. */
const WORD = /[A-Za-z0-9_-]{20,}/g

const isNamed = (word: string) => ['id', 'key', 'sessionKey', 'opaque'].includes(kindOf(word) ?? '')

/** Made values in an example's input that this service has not made yet. */
export const missingNames = (input: unknown, names: Names): readonly string[] =>
  stringsIn(input)
    .flatMap((text) => text.match(WORD) ?? [])
    .filter((word) => isNamed(word) && !names.has(word))

/** The value with the service's own ids and keys. */
export const translated = (value: unknown, names: Names): unknown => {
  if (typeof value === 'string') return value.replaceAll(WORD, (word) => names.get(word) ?? word)
  if (Array.isArray(value)) return value.map((item) => translated(item, names))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, translated(child, names)]))
}

/**
 * Throws unless a response is what the example says: the same members with the same values, made values of the same
 * kind, each standing for the same thing everywhere. Of a list the example may show a part. Fills `names`.
 */
export const assertAgrees = (shown: unknown, responded: unknown, names: Names, path = 'response'): void => {
  if (Array.isArray(shown)) {
    assert.ok(Array.isArray(responded), `${path} is a list`)
    const rest = [...responded]
    for (const [index, item] of shown.entries()) {
      const issues: unknown[] = []
      const place = rest.findIndex((candidate) => {
        const attempt: Names = new Map(names)
        try {
          assertAgrees(item, candidate, attempt, `${path}[${index}]`)
        } catch (thrown) {
          issues.push(thrown)
          return false
        }
        for (const [name, value] of attempt) names.set(name, value)
        return true
      })
      if (place === -1)
        throw issues[0] ?? new assert.AssertionError({ message: `${path}[${index}] is missing` })
      rest.splice(place, 1)
    }
    if (!shown.every(isObject)) assert.deepEqual(rest, [], `${path} has no other items`)
    return
  }
  if (isObject(shown)) {
    assert.ok(isObject(responded), `${path} is an object`)
    assert.deepEqual(Object.keys(responded).sort(), Object.keys(shown).sort(), `members of ${path}`)
    for (const [name, child] of Object.entries(shown))
      if (COUNTS.includes(name)) assert.equal(typeof responded[name], typeof child, `${path}.${name}`)
      else assertAgrees(child, responded[name], names, `${path}.${name}`)
    return
  }
  const kind = typeof shown === 'string' ? kindOf(shown) : undefined
  if (typeof shown === 'string' && typeof responded === 'string' && kind !== undefined) {
    assert.equal(kindOf(responded), kind, `${path} is of the kind "${kind}"`)
    if (kind === 'time') return
    assert.equal(responded, names.get(shown) ?? responded, `${path} is what "${shown}" stands for`)
    names.set(shown, responded)
    return
  }
  assert.deepEqual(responded, translated(shown, names), path)
}

export interface Step {
  readonly operation: Operation
  readonly example: Example
}

const READS = /:(read|search|use)$/

/** Order of calls: creates, reads, changes, then deletes in reverse order; tenants at the end. */
const phaseOf = ({ http, status, permission }: Operation): number => {
  if (http === 'DELETE /tenants/self') return 4
  if (http.startsWith('DELETE')) return 3
  if (status === 201) return 0
  return http.startsWith('GET') || READS.test(permission) ? 1 : 2
}

/** All examples in phases in which one service can be asked them. */
export const storyOf = (operations: readonly Operation[]): readonly (readonly Step[])[] => {
  const steps = operations.flatMap((operation) =>
    (operation.examples ?? []).map((example) => ({ operation, example })),
  )
  return [0, 1, 2, 3, 4].map((phase) => {
    const own = steps.filter(({ operation }) => phaseOf(operation) === phase)
    return phase === 3 ? own.reverse() : own
  })
}
