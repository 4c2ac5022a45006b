import { type Json, pointerParts, without } from '../../common/json.ts'
import type { TokenType } from '../../sdk/index.ts'
import type { JsonSchema } from '../json-schema.ts'
import type { Issues } from './issues.ts'
import { example, replacedAt, SAMPLES } from './mask-leak-check.ts'

const VALUES = SAMPLES.flatMap(({ string, number }) => [string, number] as readonly Json[])

/** Made-up data proves little: an exception on some of it is no issue. */
const attempt = (run: () => unknown): { readonly value: unknown } | undefined => {
  try {
    return { value: run() }
  } catch {
    return undefined
  }
}

const isPromise = (value: unknown) =>
  typeof value === 'object' && value !== null && typeof Reflect.get(value, 'then') === 'function'

/** Issues of `normalize`, found by calls with made-up data: it is asynchronous, or copies a `writeOnly` member. */
export const checkNormalize = (
  { normalize, writeOnly = [] }: TokenType,
  data: JsonSchema,
  issues: Issues,
): void => {
  if (normalize === undefined) return
  const at = issues.at('normalize')
  const plain = attempt(() => normalize(example(data, SAMPLES[0])))
  if (isPromise(plain?.value)) {
    at.add('it is asynchronous.', 'Return the data itself; look things up in an operation.')
    return
  }
  for (const pointer of writeOnly) {
    const parts = pointerParts(pointer)
    if (parts.length === 0) continue
    const results = VALUES.flatMap((value) => {
      const result = attempt(() => normalize(replacedAt(example(data, SAMPLES[0]), parts, value)))
      if (result === undefined) return []
      return [JSON.stringify(writeOnly.reduce<unknown>(without, result.value))]
    })
    if (new Set(results).size > 1)
      at.add(
        `it copies "${pointer}", which must never be returned, to another member.`,
        'Derive no member from it, or add that member to "writeOnly".',
      )
  }
}

/** Issues of `check`, found by calls with made-up data: it is asynchronous, returns no issues, or names the value. */
export const checkCheck = ({ check }: TokenType, data: JsonSchema, issues: Issues): void => {
  if (check === undefined) return
  const at = issues.at('check')
  for (const sample of SAMPLES) {
    const result = attempt(() => check(example(data, sample)))
    if (result === undefined) continue
    const returned = result.value
    if (isPromise(returned)) {
      at.add('it is asynchronous.', 'Return the list itself; look things up in an operation.')
      return
    }
    const isIssue = (item: unknown): item is { at: string; message: string } =>
      typeof Reflect.get(Object(item), 'at') === 'string' &&
      typeof Reflect.get(Object(item), 'message') === 'string'
    if (!Array.isArray(returned) || !returned.every(isIssue)) {
      at.add('it does not return a list of issues.', 'Return [] or [{ at: "/number", message: "must …" }].')
      return
    }
    if (returned.some(({ message }) => message.includes(sample.string))) {
      at.add('one of its messages holds the value.', 'Say what is wrong without it: messages are logged.')
      return
    }
  }
}
