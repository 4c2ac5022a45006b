import { isObject } from '../common/json.ts'

/** JSON Schema keywords that settings use (2020-12, validation). */
interface SettingSchema {
  readonly type?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: SettingSchema
}

/**
 * Checks a value against a setting's schema. Every process reads the configuration first, and a complete validator
 * takes longer to load than everything else there.
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
