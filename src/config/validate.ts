import { isObject } from '../common/json.ts'

/** The keywords that settings use (JSON Schema 2020-12, validation). */
interface SettingSchema {
  readonly type?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: SettingSchema
}

/**
 * Whether a value is as a setting's schema says. Every process reads the configuration before anything else, and a
 * whole validator takes longer to load than the rest of that.
 */
export const matches = (schema: SettingSchema, value: unknown): boolean => {
  const { type, pattern, minLength = 0, minimum = -Infinity, maximum = Infinity, items } = schema
  switch (type) {
    case 'string':
      return (
        typeof value === 'string' &&
        value.length >= minLength &&
        (pattern === undefined || new RegExp(pattern, 'u').test(value))
      )
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum
    case 'boolean':
      return typeof value === 'boolean'
    case 'array':
      return Array.isArray(value) && value.every((item) => items === undefined || matches(items, item))
    case 'object':
      return isObject(value)
    default:
      return false
  }
}
