import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { codeOf } from '../common/errors.ts'
import { syncPath } from '../common/sync-path.ts'
import { StartError } from '../supervisor/start-error.ts'
import { partialIssue, publish } from './atomic-rename.ts'
import type { Print } from './open-vault.ts'
import { type Bootstrap, loadBootstrap, PRODUCTION_FILES, parsed, ROOT, sbomText } from './production.ts'
import { type PackageLock, productionPlaces } from './sbom.ts'

/** Starts a command with the Node and the Envoy of the folder. */
const LAUNCHER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
ENVOY_BIN=\${ENVOY_BIN:-$here/runtime/envoy}
export ENVOY_BIN
exec "$here/runtime/node" "$here/bin/sidevault.js" "$@"
`

const LICENSE_FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i
/** Holds the complete text of Envoy's licence, Apache-2.0, which its package lacks. */
const APACHE = 'node_modules/@grpc/grpc-js/LICENSE'

/** Licence and copyright texts of all that is not Sidevault's own. */
const licensesText = async (top: string, { packages }: PackageLock): Promise<string> => {
  const section = async (title: string, paths: readonly string[]) => {
    const texts = await Promise.all(paths.map((path) => readFile(join(top, path), 'utf8')))
    return [`${'='.repeat(80)}\n${title}\n`, ...texts.map((text) => text.trim())].join('\n')
  }
  const sections = [
    await section('Node: MIT and others', ['runtime/LICENSE.node']),
    await section('Envoy: Apache-2.0', [APACHE]),
  ]
  for (const place of productionPlaces({ packages })) {
    const names = await readdir(join(top, place)).catch(() => undefined)
    if (names === undefined) continue // an optional package of another platform
    const files = names.filter((name) => LICENSE_FILE.test(name)).sort()
    const { version, license } = packages[place] ?? {}
    sections.push(
      await section(
        `${place.replace(/^node_modules\//, '')} ${version}: ${license}`,
        files.map((name) => join(place, name)),
      ),
    )
  }
  return `${sections.join('\n\n')}\n`
}

/** Paths of the regular files below `top`, sorted. Throws StartError for a symbolic link or another kind of file. */
const filesIn = async (top: string): Promise<readonly string[]> => {
  const entries = await readdir(top, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name).slice(top.length + 1)
      if (entry.isFile()) return path
      throw new StartError(`"${path}" is a symbolic link or a special file. Replace it by a file, and retry.`)
    })
    .sort()
}

const removeLinks = async (top: string): Promise<void> => {
  const entries = await readdir(join(top, 'node_modules'), { recursive: true, withFileTypes: true })
  for (const { name, parentPath } of entries)
    if (name === '.bin') await rm(join(parentPath, name), { recursive: true, force: true })
}

/** The content of a bundle, in the folder `top`. */
const fill = async (top: string, { stageRuntime, sha256Of }: Bootstrap): Promise<void> => {
  const isVisible = (path: string) => !basename(path).startsWith('.')
  const add = (name: string) => cp(join(ROOT, name), join(top, name), { recursive: true, filter: isVisible })
  for (const name of ['package.json', 'package-lock.json']) await add(name)
  await stageRuntime(ROOT, top)
  for (const name of PRODUCTION_FILES) await add(name)
  await writeFile(join(top, 'sbom.cdx.json'), await sbomText())

  const lock = await parsed<PackageLock>('package-lock.json')
  const places = productionPlaces(lock).filter((place) => existsSync(join(top, place)))
  const installed = { packages: Object.fromEntries(places.map((place) => [place, lock.packages[place]])) }
  // npm's own text depends on its version.
  await writeFile(join(top, 'node_modules/.package-lock.json'), JSON.stringify(installed))
  await removeLinks(top)
  await writeFile(join(top, 'sidevault'), LAUNCHER)
  await chmod(join(top, 'sidevault'), 0o755)
  await writeFile(join(top, 'LICENSES.txt'), await licensesText(top, lock))
  const sums: string[] = []
  for (const path of await filesIn(top)) sums.push(`${await sha256Of(join(top, path))}  ${path}\n`)
  await writeFile(join(top, 'SHA256SUMS'), sums.join(''))
}

/**
 * `sidevault bundle`: writes an archive of Node, Envoy, packages and this program for the platform of this machine.
 * Equal checkouts make equal archives. Never replaces a file.
 */
export const runBundle = async (out: string, print: Print): Promise<void> => {
  const path = resolve(out)
  const type = /\.tar\.[gx]z$/.exec(path)?.[0]
  if (type === undefined)
    throw new StartError('The name of --out ends with neither .tar.gz nor .tar.xz. Choose one of them.', {
      configuration: true,
    })
  if (existsSync(path)) throw new StartError(`"${path}" already exists. Choose another name.`)
  const bootstrap = await loadBootstrap()
  const { version } = await parsed<{ readonly version: string }>('package.json')
  const name = `sidevault-${version}-${bootstrap.bundlePlatform()}`
  const partial = `${path}.partial`
  try {
    await writeFile(partial, '', { flag: 'wx' })
  } catch (thrown) {
    throw new StartError((partialIssue(partial, thrown) as Error).message)
  }
  const temporary = join(ROOT, '.cache/tmp')
  await mkdir(temporary, { recursive: true })
  const parent = await mkdtemp(join(temporary, 'bundle-'))
  try {
    const top = join(parent, name)
    await mkdir(top)
    await fill(top, bootstrap)
    await bootstrap.writeArchive({ parent, name, type, file: partial })
    await syncPath(partial)
    await publish(partial, path)
    print(`${await bootstrap.sha256Of(path)}  ${basename(path)}`)
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === 'ENOSPC') throw new StartError('There is no free space. Make some, and retry.')
    throw thrown
  } finally {
    await rm(parent, { recursive: true, force: true })
    await rm(partial, { force: true })
  }
}
