import { findPackageJSON } from 'node:module'
import { dirname, join, posix } from 'node:path'

/** Where the pages find packages: bare specifiers, rewritten to files below `packages/`. A closed list. */
const ENTRIES: Readonly<Record<string, string>> = {
  'lit-html': 'lit-html/lit-html.js',
  '@preact/signals-core': 'signals-core/signals-core.mjs',
}

/** Packages of those files, and where in them they are. */
const FOLDERS: Readonly<Record<string, readonly [name: string, folder: string]>> = {
  'lit-html': ['lit-html', ''],
  'signals-core': ['@preact/signals-core', 'dist'],
}

const PREFIX = 'packages/'

/** The path of a bare specifier among the served files; throws for a package that is not on the list. */
const servedAs = (specifier: string): string => {
  const entry = ENTRIES[specifier]
  if (entry !== undefined) return PREFIX + entry
  if (specifier.startsWith('lit-html/')) return PREFIX + specifier
  throw new Error(`The console imports ${JSON.stringify(specifier)}, which is not served`)
}

/** Specifiers of static imports and exports. */
const SPECIFIERS =
  /(?<before>(?:^|;)(?:import|export)\b(?:[\w\s{},*$]*\bfrom\b)?\s*)(?<quote>["'])(?<specifier>[^"'\n]+)\k<quote>/gm

/** Specifiers of dynamic imports: of the console's own files only. */
const DYNAMIC = /\bimport\('(?<specifier>\.[^']+)'\)/g

/** Whether a served path is a file of a package. */
export const isOfPackage = (path: string): boolean => path.startsWith(PREFIX)

/**
 * The program with bare specifiers as relative paths, and the served paths of what it imports: at once, and `later`.
 */
export const linked = (
  path: string,
  program: string,
): { readonly text: string; readonly imports: readonly string[]; readonly later: readonly string[] } => {
  const imports: string[] = []
  const folder = posix.dirname(path)
  const text = program.replaceAll(SPECIFIERS, (all, before: string, quote: string, specifier: string) => {
    const target = specifier.startsWith('.') ? posix.join(folder, specifier) : servedAs(specifier)
    imports.push(target)
    if (specifier.startsWith('.')) return all
    const from = posix.relative(folder, target)
    return `${before}${quote}${from.startsWith('.') ? from : `./${from}`}${quote}`
  })
  // Behind the static ones: they are loaded later.
  const later = [...program.matchAll(DYNAMIC)].map(({ groups }) =>
    posix.join(folder, groups?.specifier ?? ''),
  )
  return { text, imports, later }
}

/** The file of a path below `packages/`. */
export const packageFile = (path: string): string => {
  const [name = '', ...names] = path.slice(PREFIX.length).split('/')
  const [specifier = '', folder = ''] = FOLDERS[name] ?? []
  const manifest = specifier === '' ? undefined : findPackageJSON(specifier, import.meta.url)
  if (manifest === undefined || names.includes('..'))
    throw new Error(`${path} is in no package of the console`)
  return join(dirname(manifest), folder, ...names)
}
