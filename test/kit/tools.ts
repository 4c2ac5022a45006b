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

/** Python and the folder of these packages, kept below `.cache/`; or what could not be had, and why. */
export const pythonWith = async (
  name: string,
  packages: readonly string[],
): Promise<{ readonly python: string; readonly packages: string } | { readonly missing: string }> => {
  const folder = join(root, '.cache', `python-${name}`)
  const version = await run('python3', ['-c', 'import sys; print(sys.version_info[:2])'])
  if (version.code !== 0) return { missing: 'python3 is not there' }
  if (existsSync(folder)) return { python: 'python3', packages: folder }
  const fresh = `${folder}.${process.pid}`
  mkdirSync(join(root, '.cache'), { recursive: true })
  const args = ['-m', 'pip', 'install', '--quiet', '--no-cache-dir', '--only-binary', ':all:']
  const installed = await run('python3', [...args, '--target', fresh, ...packages], {
    env: toolEnvironment(root),
    timeout: 120_000,
  })
  if (installed.code !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    return { missing: `pip could not install ${packages.join(', ')}: ${installed.output.trim()}` }
  }
  if (!existsSync(folder)) renameSync(fresh, folder)
  return { python: 'python3', packages: folder }
}
