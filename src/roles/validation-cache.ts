import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { programVersion } from '../common/version.ts'
import type { ValidationCache } from '../kernel/load/declarations-digest.ts'

/** Caches the digest of validated declarations in the data directory, for this version of the program and of Node. */
export const validationCacheIn = (dataDir: string): ValidationCache => {
  const path = join(dataDir, 'declarations-checked')
  const line = (digest: string) => `${programVersion()} ${process.version} ${digest}\n`
  return {
    has: (digest) => {
      try {
        return readFileSync(path, 'utf8') === line(digest)
      } catch {
        return false
      }
    },
    keep: (digest) => {
      try {
        writeFileSync(path, line(digest), { mode: 0o600 })
      } catch {
        // The next start validates again.
      }
    },
  }
}
