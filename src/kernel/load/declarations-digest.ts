import { createHash } from 'node:crypto'
import type { LoadedPlugin } from '../types.ts'

/** What was found without issue by an earlier start, so that a later one need not look again: most of a start's checks. */
export interface ValidationCache {
  has(digest: string): boolean
  /** Forgets what it had before. */
  keep(digest: string): void
}

/**
 * Other whenever what plugins declare of operations and permissions is; of a function it only knows that it is there.
 * undefined for what JSON cannot hold.
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
