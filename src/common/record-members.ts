import { isObject } from './json.ts'

/** What columns hold of a record: when it is read, they must say what it says. */
export const textMember = (record: unknown, member: string): string | undefined => {
  const value = isObject(record) && Object.hasOwn(record, member) ? record[member] : undefined
  return typeof value === 'string' ? value : undefined
}

/** When the record is to be removed, by the member that its collection names; null: never. */
export const endOf = (record: unknown, expires: string | undefined): number | null => {
  const value =
    expires !== undefined && isObject(record) && Object.hasOwn(record, expires) ? record[expires] : undefined
  return typeof value === 'number' ? value : null
}

/** What lists match wildcards against. */
export const nameOf = (record: unknown): string | null => textMember(record, 'name')?.toLowerCase() ?? null
