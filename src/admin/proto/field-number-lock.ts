import type { Field, Messages } from '../../kernel/messages/model.ts'
import { typeName } from './files.ts'

/** All fields that were ever printed, by message and name. Entries stay when a field is removed. */
export type Frozen = Readonly<Record<string, Readonly<Record<string, FrozenField>>>>

interface FrozenField {
  readonly number: number
  readonly type: string
}

const typeOf = ({ shape }: Field): string => {
  if (shape.kind === 'list') return `repeated ${typeName(shape.item)}`
  return shape.kind === 'map' ? `map<string, ${typeName(shape.value)}>` : typeName(shape)
}

/** Numbers and types as they are now. */
export const currentFields = ({ messages }: Messages): Frozen =>
  Object.fromEntries(
    messages.map(({ name, fields }) => [
      name,
      Object.fromEntries(fields.map((field) => [field.name, { number: field.number, type: typeOf(field) }])),
    ]),
  )

/**
 * Changes that would break existing clients: a field with another number or type, and the number or name of a removed
 * field in another use. Removed and new fields break none.
 */
export const checkFrozen = (frozen: Frozen, current: Frozen): readonly string[] => {
  const issues: string[] = []
  for (const [message, fields] of Object.entries(current)) {
    const once = frozen[message] ?? {}
    const byNumber = new Map(Object.entries(once).map(([name, { number }]) => [number, name]))
    for (const [name, { number, type }] of Object.entries(fields)) {
      const before = once[name]
      const owner = byNumber.get(number)
      if (before !== undefined && before.number !== number)
        issues.push(`${message}.${name} has the number ${number}, and had ${before.number}.`)
      if (before !== undefined && before.type !== type)
        issues.push(`${message}.${name} is ${type}, and was ${before.type}.`)
      if (owner !== undefined && owner !== name)
        issues.push(`${message}.${name} uses the number ${number}, which is that of "${owner}".`)
    }
  }
  return issues
}

const sorted = <T>(record: Readonly<Record<string, T>>, order: (a: [string, T], b: [string, T]) => number) =>
  Object.fromEntries(Object.entries(record).sort(order))

/** The lock file with the current fields added, sorted for readable diffs. Only after `checkFrozen` accepted them. */
export const freeze = (frozen: Frozen, current: Frozen): Frozen => {
  const all: Record<string, Readonly<Record<string, FrozenField>>> = { ...frozen }
  for (const [message, fields] of Object.entries(current)) all[message] = { ...all[message], ...fields }
  const byNumber = Object.fromEntries(
    Object.entries(all).map(([message, fields]) => [
      message,
      sorted(fields, ([, a], [, b]) => a.number - b.number),
    ]),
  )
  return sorted(byNumber, ([a], [b]) => (a < b ? -1 : 1))
}
