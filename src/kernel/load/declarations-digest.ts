import { createHash } from 'node:crypto'
import type { LoadedPlugin } from '../types.ts'

/** Digest of declarations that an earlier start found valid, so that a later one skips most checks. */
export interface ValidationCache {
  has(digest: string): boolean
  /** Replaces the stored digest. */
  keep(digest: string): void
}

/**
 * Changes with the declarations of operations and permissions; of functions it has the presence only.
 * Undefined for declarations that JSON cannot hold.
 */
export const digestOfDeclarations = (loaded: readonly LoadedPlugin[]): string | undefined => {
  const declared = loaded.map(({ plugin, contribution: { operations, permissions } }) => [
    plugin.name,
    operations,
    permissions,
  ])
  try {
    const text = JSON.stringify(declared, (_, value) => (typeof value === 'function' ? 'function' : value))
    return createHash('sha256').update(text).digest('hex')
  } catch {
    return undefined
  }
}
