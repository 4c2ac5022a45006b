import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Log } from '../../src/common/log.ts'
import { warmUp } from '../../src/roles/warm-up.ts'
import { silentLog } from '../kit/egress.ts'

const runDir = mkdtempSync(join(tmpdir(), 'sidevault-warm-up-'))
t.teardown(() => rmSync(runDir, { recursive: true, force: true }))

/** A log that stores its warnings. */
const warningsOf = (): { readonly log: Log; readonly warnings: unknown[] } => {
  const warnings: unknown[] = []
  return { warnings, log: { ...silentLog(), warn: (...line: unknown[]) => void warnings.push(line) } as Log }
}

for (const kind of ['admin', 'gateway'] as const) {
  t.test(`the warm-up of a ${kind} process runs all of its calls, and leaves nothing`, async (t) => {
    const { log, warnings } = warningsOf()
    await warmUp({ kind, worker: 0, runDir }, log)
    t.same(warnings, [])
    t.same(readdirSync(runDir), [])
  })

  t.test(`the warm-up of a ${kind} process that fails is a warning`, async (t) => {
    const { log, warnings } = warningsOf()
    const file = join(runDir, 'file')
    writeFileSync(file, '')
    await warmUp({ kind, worker: 0, runDir: file }, log)
    rmSync(file)
    t.equal(warnings.length, 1)
  })
}
