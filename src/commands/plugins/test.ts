import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'

const REGISTER = new URL('../../testing/register.ts', import.meta.url).href

/** Runs Node's test runner in a plugin's folder. Resolves with its exit code. */
export const testPlugin = async (path: string): Promise<number> => {
  const child = spawn(process.execPath, ['--import', REGISTER, '--test'], {
    cwd: resolve(path),
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  return code ?? 1
}
