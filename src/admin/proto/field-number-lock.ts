import type { Field, Messages } from '../../kernel/messages/model.ts'
import { typeName } from './files.ts'

/** Every field that was ever printed, by message and name. What is in it stays, also when the field is gone. */
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
 * What would break clients that exist: a field whose number or type changed, and a number or name of a field that is
 * gone, used by another one. A field that is merely gone, or new, breaks none.
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

/** What was frozen with what is there now; sorted, so that changes read well. Only for what `checkFrozen` accepts. */
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
