import { type FieldErrors, invalid } from '../common/errors.ts'
import { pointerParts } from '../common/json.ts'
import { safeMemberName } from '../common/safe-member-name.ts'

/** Messages by property path, collected so that one response has all issues of a request. */
export interface Issues {
  add(path: string, sentence: string): void
  /** Throws `invalid` if there are issues. */
  check(): void
}

/** Maximum messages in a response. */
const LIMIT = 50

/** `base` and `name` joined as a property path. */
export const memberPath = (base: string, name: string): string =>
  base === '' ? safeMemberName(name) : `${base}.${safeMemberName(name)}`

export const pointerPath = (base: string, pointer: string): string =>
  pointerParts(pointer).reduce(memberPath, base)

export const createIssues = (): Issues => {
  const byPath = new Map<string, string[]>()
  let count = 0
  return {
    add: (path, sentence) => {
      if (count >= LIMIT) return
      const sentences = byPath.get(path) ?? []
      if (sentences.includes(sentence)) return
      byPath.set(path, [...sentences, sentence])
      count += 1
    },
    check: () => {
      if (count > 0) throw invalid(Object.fromEntries(byPath) satisfies FieldErrors)
    },
  }
}
