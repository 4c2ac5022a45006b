import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'
import { root } from './sources.ts'

/**
 * Asserts that the audit journals of a data directory hold, by `sidevault audit verify`; `env`: more of its settings.
 */
export const journalsHold = (t: Test, dataDir: string, env: Readonly<Record<string, string>> = {}): void => {
  const program = join(root, 'bin/sidevault.js')
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'audit', 'verify'], {
    env: { ...process.env, ...env, SIDEVAULT_DATA_DIR: dataDir },
    encoding: 'utf8',
  })
  t.equal(status, 0, `the journals hold: ${stdout}${stderr}`)
}
