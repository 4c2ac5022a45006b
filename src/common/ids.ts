import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { BASE58, encodeBase58 } from './base58.ts'

export const newId = (): string => randomUUID()

/** `prefix` and 192 random bits in base58 (completions §4). */
export const newKey = (prefix: 'key_' | 'key_sess_' | 'con_' = 'key_'): string =>
  prefix + encodeBase58(randomBytes(24))

export const UUID_PATTERN = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'

/** Exactly `length` random base58 characters, 5.8 bits each. */
export const randomBase58 = (length: number): string =>
  Array.from({ length }, () => BASE58[randomInt(BASE58.length)]).join('')
