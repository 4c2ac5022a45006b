import { children, type JsonSchema } from '../json-schema.ts'
import type { Issues } from './issues.ts'

/** https://protobuf.dev/programming-guides/proto3/#assigning */
const MAX_FIELD = 2 ** 29 - 1
const RESERVED = { from: 19_000, to: 19_999 }
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

const isFieldNumber = (value: unknown): value is number =>
  Number.isInteger(value) &&
  Number(value) >= 1 &&
  Number(value) <= MAX_FIELD &&
  !(Number(value) >= RESERVED.from && Number(value) <= RESERVED.to)

/** Every property of every object inside the schema must carry a proto field number, unique within its object. */
export const checkFields = (schema: JsonSchema, issues: Issues): void => {
  const applied = new Map<number, string>()
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const at = issues.at(name)
    const number = property?.field
    if (!NAME.test(name))
      at.add('its name cannot be a proto field name.', 'Use letters, digits and underscores.')
    if (number === undefined)
      at.add('it has no field number.', 'Give the schema the option field: n, a number never used before.')
    else if (!isFieldNumber(number))
      at.add(
        `${JSON.stringify(number)} is not a field number.`,
        `Use a whole number from 1 to ${MAX_FIELD}, outside ${RESERVED.from}–${RESERVED.to}.`,
      )
    else if (applied.has(number))
      at.add(`its field number ${number} is already that of "${applied.get(number)}".`, 'Give each its own.')
    else applied.set(number, name)
  }
  for (const [name, child] of children(schema))
    if (child !== undefined) checkFields(child, name === '' || name === '[]' ? issues : issues.at(name))
}
