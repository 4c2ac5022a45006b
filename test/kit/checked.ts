import { copyFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ValidationCache } from '../../src/kernel/load/declarations-digest.ts'

/** Lasts as long as one run of all tests (test/runner/run.ts), so that it never outlives the code of the checks. */
const directory = process.env.SIDEVAULT_TEST_CHECKED

const here = new Set<string>()

const fileOf = (digest: string): string | undefined => directory && join(directory, digest)

/** Declarations of plugins are checked once in a run, by the first test that needs them: half a second each time. */
export const checkedBefore: ValidationCache = {
  has: (digest) => {
    const file = fileOf(digest)
    return here.has(digest) || (file !== undefined && existsSync(file))
  },
  keep: (digest) => {
    here.add(digest)
    const file = fileOf(digest)
    if (file !== undefined) writeFileSync(file, '')
  },
}

/** As src/roles/validation-cache.ts has it. */
const MEMORY = 'declarations-checked'

/** A whole program on this new data directory remembers what another of this run has checked. */
export const rememberChecks = (dataDir: string): void => {
  const retained = directory && join(directory, MEMORY)
  if (!retained || !existsSync(retained)) return
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  copyFileSync(retained, join(dataDir, MEMORY))
}

/** The checked declarations, for tests with the plugins of the service. */
export const shareChecks = (dataDir: string): void => {
  const own = join(dataDir, MEMORY)
  if (!directory || !existsSync(own)) return
  const draft = join(directory, `${MEMORY}.${process.pid}`)
  copyFileSync(own, draft)
  renameSync(draft, join(directory, MEMORY))
}
