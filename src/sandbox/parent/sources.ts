import { readdirSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { ChildStart } from '../child/main.ts'
import { realmScripts } from '../realm/realm.ts'
import { strip } from '../realm/strip.ts'
import { modulesFolder } from './modules-folder.ts'

const ROOT = new URL('../', import.meta.url)
/** Folders whose modules are not sent to children. */
const EXCLUDED = ['parent/', 'realm/guest/']

const urlOf = (path: string) => new URL(path, ROOT).href

/** Modules of a child as JavaScript, by URL. */
const modules = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
      .map((path) => path.replaceAll('\\', '/'))
      .filter((path) => path.endsWith('.ts') && !EXCLUDED.some((folder) => path.startsWith(folder)))
      .map((path) => [urlOf(path), strip(readFileSync(new URL(path, ROOT), 'utf8'))]),
  )

/** First text of the stream (boot.js). Costly (it strips types and reads packages), so call it once. */
export const startText = (start: Omit<ChildStart, 'scripts'>): string =>
  JSON.stringify({
    modules: modules(),
    installed: pathToFileURL(`${modulesFolder()}/packages.js`).href,
    main: urlOf('child/main.ts'),
    realm: urlOf('realm/realm.ts'),
    start: { ...start, scripts: realmScripts() } satisfies ChildStart,
  })
