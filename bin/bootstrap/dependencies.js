import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exclusively } from './lock.js'
import { BootstrapError, npm, say } from './run.js'

/**
 * @typedef {{ version?: string, integrity?: string, dev?: boolean, optional?: boolean, devOptional?: boolean, link?:
 * boolean }} Locked
 */

/**
 * @param {string} path
 * @returns {Record<string, Locked> | undefined}
 */
const packagesOf = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return undefined
  }
}

/**
 * Packages of `package-lock.json` that `node_modules` does not have in that version. npm writes
 * `node_modules/.package-lock.json` last, so an interrupted install counts as missing.
 * @param {string} root the project
 * @param {'production' | 'all'} mode
 * @returns {string[]} their places, e.g. `node_modules/pino`
 */
export const missingPackages = (root, mode) => {
  const wanted = packagesOf(join(root, 'package-lock.json'))
  if (!wanted)
    throw new BootstrapError('package-lock.json is missing or damaged. Restore it from the repository.')
  const present = packagesOf(join(root, 'node_modules', '.package-lock.json')) ?? {}
  return Object.entries(wanted)
    .filter(([place, entry]) => {
      if (place === '' || entry.optional || entry.link) return false
      if (mode === 'production' && (entry.dev || entry.devOptional)) return false
      const installed = present[place]
      return (
        installed === undefined ||
        installed.version !== entry.version ||
        installed.integrity !== entry.integrity ||
        !existsSync(join(root, place, 'package.json'))
      )
    })
    .map(([place]) => place)
}

/**
 * Installs the packages of the lock file. npm runs only when one is missing.
 * @param {string} root the project
 * @param {'production' | 'all'} mode
 */
export const ensureDependencies = async (root, mode) => {
  if (missingPackages(root, mode).length === 0) return
  await exclusively(root, 'install', async () => {
    const missing = missingPackages(root, mode)
    if (missing.length === 0) return
    say(`Installing ${missing.length} npm packages …`)
    // `npm ci` empties node_modules first, which would break a running service when only development packages are
    // missing.
    const additions = mode === 'all' && missingPackages(root, 'production').length === 0
    const how = mode === 'production' ? ['ci', '--omit=dev'] : [additions ? 'install' : 'ci', '--include=dev']
    await npm(root, root, additions ? [...how, '--no-save'] : how)
    const still = missingPackages(root, mode)
    if (still.length > 0)
      throw new BootstrapError(
        `npm finished, but ${still.slice(0, 3).join(', ')} is still missing. Delete node_modules and try again.`,
      )
  })
}
