import { isObject } from './json.ts'

/** Text member of a record that is also stored as a column. On read both must agree. */
export const textMember = (record: unknown, member: string): string | undefined => {
  const value = isObject(record) && Object.hasOwn(record, member) ? record[member] : undefined
  return typeof value === 'string' ? value : undefined
}

/** Texts of a member that holds one or a list of them. */
export const textsMember = (record: unknown, member: string): readonly string[] => {
  const value = isObject(record) && Object.hasOwn(record, member) ? record[member] : undefined
  return [value].flat().filter((text) => typeof text === 'string')
}

/** Expiry of a record, from the member that its collection declares; null: never. */
export const endOf = (record: unknown, expires: string | undefined): number | null => {
  const value =
    expires !== undefined && isObject(record) && Object.hasOwn(record, expires) ? record[expires] : undefined
  return typeof value === 'number' ? value : null
}

/** Lower-case name that list filters match wildcards against. */
export const nameOf = (record: unknown): string | null => textMember(record, 'name')?.toLowerCase() ?? null
