import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { yieldIfDue } from '../../common/event-loop.ts'
import { type ConsoleFile, consoleFile } from './compress.ts'
import { indexPage } from './index-page.ts'
import { isOfPackage, linked, packageFile } from './packages.ts'
import { stripTypes } from './strip-types.ts'

const ROOT = fileURLToPath(new URL('../../console', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const INDEX = 'index.html'

/** All styles, in one file: those of screens behind those of all. */
const STYLE = 'style.css'

const SOURCE_MAP = /\/\/# sourceMappingURL=.*$/m

export interface ConsoleFiles {
  /** Hash of all files; a part of their URLs. */
  readonly hash: string
  readonly index: ConsoleFile
  /** Files by path: `kit/table.ts`. */
  readonly files: ReadonlyMap<string, ConsoleFile>
}

/**
 * The texts that browsers load, by path: `main.ts` and what it imports, as JavaScript, with the packages' files among
 * them; a style and pictures. Files of types alone are imported by nothing that runs.
 */
const readTexts = async (): Promise<{
  readonly texts: ReadonlyMap<string, string>
  /** Paths behind a dynamic import. */
  readonly later: ReadonlySet<string>
}> => {
  const texts = new Map<string, string>()
  const names = (await readdir(ROOT, { recursive: true })).map((path) => path.replaceAll('\\', '/'))
  const read = (path: string) => readFile(join(ROOT, path), 'utf8')
  for (const path of names.filter((name) => /\.(?:svg|html)$/.test(name))) texts.set(path, await read(path))
  const styles = names.filter((name) => name.endsWith('.css') && name !== STYLE).sort()
  texts.set(STYLE, (await Promise.all([STYLE, ...styles].map(read))).join('\n'))
  const modules = ['main.ts']
  const dynamic: string[] = []
  const later = new Set<string>()
  let isLater = false
  const next = () => {
    isLater ||= modules.length === 0
    return modules.shift() ?? dynamic.shift()
  }
  for (let path = next(); path !== undefined; path = next()) {
    if (texts.has(path)) continue
    const text = await readFile(isOfPackage(path) ? packageFile(path) : join(ROOT, path), 'utf8')
    const pause = yieldIfDue()
    if (pause) await pause
    const program = linked(path, path.endsWith('.ts') ? stripTypes(text) : text.replace(SOURCE_MAP, ''))
    texts.set(path, program.text)
    modules.push(...program.imports)
    dynamic.push(...program.later)
    if (isLater) later.add(path)
  }
  return { texts, later }
}

/** Reads everything. Costs about 0.2 s of CPU time, in short turns. */
export const loadFiles = async (): Promise<ConsoleFiles> => {
  const { texts: read, later } = await readTexts()
  const texts = new Map(read)
  const index = texts.get(INDEX) ?? ''
  texts.delete(INDEX)
  const digest = createHash('sha256')
  for (const [path, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1)))
    digest.update(`${path}\0${text.length}\0${text}`)
  const hash = digest.digest('base64url').slice(0, 20)
  const page = indexPage(index, `/console/assets/${hash}/`, { paths: [...texts.keys()], later })
  return {
    hash,
    index: consoleFile('text/html; charset=utf-8', page),
    files: new Map(
      [...texts].map(([path, text]) => [path, consoleFile(TYPES[extname(path)] ?? '', text)] as const),
    ),
  }
}
