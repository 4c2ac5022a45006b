import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { StartError } from '../../supervisor/start-error.ts'

const REGISTER = new URL('../../testing/register.ts', import.meta.url).href

/** Runs Node's test runner in a plugin's folder. Resolves with its exit code. Throws StartError without a folder. */
export const testPlugin = async (path: string): Promise<number> => {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new StartError(`"${path}" is not a folder. Name the folder of the plugin and its tests.`, {
      configuration: true,
    })
  const child = spawn(process.execPath, ['--import', REGISTER, '--test'], {
    cwd: resolve(path),
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  return code ?? 1
}
