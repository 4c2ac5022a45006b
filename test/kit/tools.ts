import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './sources.ts'

interface Ended {
  readonly code: number
  readonly output: string
}

/** The bootstrap's own way to run tools, which keep what they write below `.cache/`. */
export const {
  run,
  toolEnvironment,
}: {
  run(file: string, args: readonly string[], options?: object): Promise<Ended>
  toolEnvironment(root: string): NodeJS.ProcessEnv
} = await import(new URL('../../bin/bootstrap/run.js', import.meta.url).href)

/** Fills a folder below `.cache/` once; what `install` printed when it failed. */
const keep = async (
  folder: string,
  install: (fresh: string) => Promise<Ended>,
): Promise<string | undefined> => {
  if (existsSync(folder)) return undefined
  const fresh = `${folder}.${process.pid}`
  mkdirSync(join(root, '.cache'), { recursive: true })
  const { code, output } = await install(fresh)
  if (code === 0 && !existsSync(folder)) renameSync(fresh, folder)
  rmSync(fresh, { recursive: true, force: true })
  return code === 0 ? undefined : output.trim()
}

/** Python and the folder of these packages, kept below `.cache/`; or what could not be had, and why. */
export const pythonWith = async (
  name: string,
  packages: readonly string[],
): Promise<{ readonly python: string; readonly packages: string } | { readonly missing: string }> => {
  const folder = join(root, '.cache', `python-${name}`)
  const version = await run('python3', ['-c', 'import sys; print(sys.version_info[:2])'])
  if (version.code !== 0) return { missing: 'python3 is not there' }
  const args = ['-m', 'pip', 'install', '--quiet', '--no-cache-dir', '--only-binary', ':all:']
  const failed = await keep(folder, (fresh) =>
    run('python3', [...args, '--target', fresh, ...packages], {
      env: toolEnvironment(root),
      timeout: 120_000,
    }),
  )
  if (failed !== undefined) return { missing: `pip could not install ${packages.join(', ')}: ${failed}` }
  return { python: 'python3', packages: folder }
}

/**
 * The folder of these packages of npm, kept below `.cache/`; or why they could not be had. No script of theirs runs.
 */
export const npmWith = async (
  name: string,
  packages: readonly string[],
): Promise<{ readonly packages: string } | { readonly missing: string }> => {
  const folder = join(root, '.cache', `npm-${name}`)
  const args = ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts']
  const failed = await keep(folder, (fresh) =>
    run('npm', [...args, '--prefix', fresh, ...packages], { env: toolEnvironment(root), timeout: 300_000 }),
  )
  if (failed !== undefined) return { missing: `npm could not install ${packages.join(', ')}: ${failed}` }
  return { packages: folder }
}
