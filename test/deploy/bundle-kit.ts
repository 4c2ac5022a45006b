import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { root } from '../kit/sources.ts'

const run = promisify(execFile)

/** Runs a script to its end, as a user of a shell. Rejects with its output when it fails. */
export const shell = async (
  cwd: string,
  script: string,
  env: Record<string, string> = {},
): Promise<string> => {
  const { PATH = '' } = process.env
  const { stdout } = await run('sh', ['-c', script], { cwd, env: { PATH, ...env }, maxBuffer: 2 ** 26 })
  return stdout
}

/** Runs `sidevault bundle`; what it prints. `before`: shell commands before it. */
export const bundle = (out: string, before = '', env: Record<string, string> = {}): Promise<string> =>
  shell(root, `${before}exec "$NODE" bin/sidevault.js bundle --out "$OUT"`, {
    ...env,
    NODE: process.execPath,
    OUT: out,
  })
