import { copyFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FoundSound } from '../../src/kernel/declared.ts'

/** Lasts as long as one run of all tests (bin/test.js), so that it never outlives the code of the checks. */
const directory = process.env.SIDEVAULT_TEST_CHECKED

const here = new Set<string>()

const fileOf = (digest: string): string | undefined => directory && join(directory, digest)

/** What plugins declare is checked once in a run, by whichever test comes first: half a second each time. */
export const checkedBefore: FoundSound = {
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

/** As src/roles/found-sound.ts has it. */
const MEMORY = 'declarations-checked'

/** A whole program on this new data directory remembers what another of this run has checked. */
export const rememberChecks = (dataDir: string): void => {
  const kept = directory && join(directory, MEMORY)
  if (!kept || !existsSync(kept)) return
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  copyFileSync(kept, join(dataDir, MEMORY))
}

/** What it has checked, for others with the plugins of the service. */
export const shareChecks = (dataDir: string): void => {
  const own = join(dataDir, MEMORY)
  if (!directory || !existsSync(own)) return
  const draft = join(directory, `${MEMORY}.${process.pid}`)
  copyFileSync(own, draft)
  renameSync(draft, join(directory, MEMORY))
}
