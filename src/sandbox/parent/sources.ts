import { readdirSync, readFileSync } from 'node:fs'
import { sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ChildStart } from '../child/main.ts'
import { realmScripts } from '../realm/realm.ts'
import { strip } from '../realm/strip.ts'

/** The folder that holds isolated-vm and all that is installed beside it: all that a child may read. */
export const modulesFolder = (): string => {
  const path = fileURLToPath(import.meta.resolve('isolated-vm'))
  return path.slice(0, path.lastIndexOf(`${sep}node_modules${sep}`) + `${sep}node_modules`.length)
}

const ROOT = new URL('../', import.meta.url)
/** What runs here and not in a child. */
const NOT_THEIRS = ['parent/', 'realm/guest/']

const urlOf = (path: string) => new URL(path, ROOT).href

/** Our modules that run in a child, as JavaScript, by URL. */
const modules = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => path.endsWith('.ts') && !NOT_THEIRS.some((folder) => path.startsWith(folder)))
      .map((path) => [urlOf(path), strip(readFileSync(new URL(path, ROOT), 'utf8'))]),
  )

/** The text that a child reads first (boot.js). Made once: types are stripped in it, and packages read. */
export const startText = (start: Omit<ChildStart, 'scripts'>): string =>
  JSON.stringify({
    modules: modules(),
    installed: pathToFileURL(`${modulesFolder()}/packages.js`).href,
    main: urlOf('child/main.ts'),
    realm: urlOf('realm/realm.ts'),
    start: { ...start, scripts: realmScripts(start.packages) } satisfies ChildStart,
  })
