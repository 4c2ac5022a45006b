import { randomBytes, randomUUID } from 'node:crypto'
import bs58 from 'bs58'

export const newId = (): string => randomUUID()

/** 192 random bits behind `prefix`, in base58 (completions §4). */
export const newKey = (prefix: 'key_' | 'key_sess_' = 'key_'): string => prefix + bs58.encode(randomBytes(24))

export const UUID_PATTERN = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$'
