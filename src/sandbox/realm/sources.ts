/**
 * Source text of the realm: the modules of `guest/` and of packages, each as a function that runs when it is first
 * required. In the snapshot, modules that have not run cost almost nothing.
 */
import { readFileSync } from 'node:fs'
import { createRequire, findPackageJSON, isBuiltin } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Script } from 'node:vm'
import { INSTALL } from './abi.ts'
import { boot } from './boot.ts'
import { BUILTINS } from './builtins.ts'
import { strip } from './strip.ts'
import { TABLES } from './tables.ts'

const INSIDE = fileURLToPath(new URL('guest/', import.meta.url))
const REQUIRE = /\brequire\(\s*(['"])([^'"\n]+)\1\s*\)/g

const idOf = (file: string) => relative(INSIDE, file).replaceAll('\\', '/')

interface Module {
  readonly id: string
  /** Body of a function of `exports`, `require`, `module`. */
  readonly body: string
  /** Ids of required modules, by specifier. */
  readonly needs: Readonly<Record<string, string>>
}

/** Converts `import { a as b } from './c.ts'` and `export const d`, the forms in `guest/`, to CommonJS. */
const asCommonJs = (text: string): string => {
  const names: string[] = []
  const body = strip(text)
    .replace(/^import\s*\{([^}]*)\}\s*from\s*('[^']+')/gm, (_, list: string, from: string) => {
      return `const {${list.replace(/(\w+)\s+as\s+(\w+)/g, '$1: $2')}} = require(${from})`
    })
    .replace(/^export (?=(?:const|let|class|function|async function)\s+(\w+))/gm, (_, name: string) => {
      names.push(name)
      return ''
    })
    .replace(/^export (?=const \{([^}]*)\})/gm, (_, list: string) => {
      names.push(
        ...list
          .split(',')
          .map((name) => name.trim())
          .filter(Boolean),
      )
      return ''
    })
  return `'use strict';${body}\n${names.map((name) => `exports.${name} = ${name}`).join('\n')}\n`
}

/** The file of a member of BUILTINS. */
const fileOf = (path: string): string =>
  /\.(?:ts|json)$/.test(path) ? join(INSIDE, path) : createRequire(import.meta.url).resolve(path)

const builtinOf = (specifier: string): string | undefined => {
  const name = specifier.replace(/^node:/, '').replace(/\/$/, '')
  return Object.hasOwn(BUILTINS, name) ? fileOf(BUILTINS[name]!) : undefined
}

/** Export of a package for `require`. Node itself prefers ES modules that `require` can load. */
const exportedTo = (conditions: readonly string[], exported: unknown): string | undefined => {
  if (typeof exported === 'string') return exported
  if (Array.isArray(exported))
    return exported.map((each) => exportedTo(conditions, each)).find((each) => each)
  for (const [name, inner] of Object.entries((exported as object | null) ?? {})) {
    const target = conditions.includes(name) ? exportedTo(conditions, inner) : undefined
    if (target !== undefined) return target
  }
  return undefined
}

/** The CommonJS file of a package whose ES module was found. */
const commonJs = (file: string, specifier: string): string => {
  if (!file.endsWith('.mjs')) return file
  const manifest = findPackageJSON(pathToFileURL(file))
  if (manifest === undefined) return file
  const { name, exports }: { name: string; exports?: Record<string, unknown> } = JSON.parse(
    readFileSync(manifest, 'utf8'),
  )
  const subpath = `.${specifier.slice(name.length)}`
  const exported = exportedTo(['node', 'require', 'default'], exports?.[subpath] ?? exports)
  return exported === undefined ? file : join(dirname(manifest), exported)
}

/** Resolves `specifier` in `file`; undefined when not found, which is an error when the line runs. */
const resolveIn = (file: string, specifier: string): string | undefined => {
  const builtin = builtinOf(specifier)
  if (builtin !== undefined) return builtin
  if (specifier.startsWith('#') || isBuiltin(specifier)) return undefined
  if (file.startsWith(INSIDE) && specifier.startsWith('.')) return resolve(dirname(file), specifier)
  try {
    return commonJs(createRequire(file).resolve(specifier), specifier)
  } catch {
    return undefined
  }
}

const bodyOf = (file: string): string => {
  const text = TABLES[idOf(file)] ?? readFileSync(file, 'utf8')
  if (file.endsWith('.json')) return `module.exports = ${text.trim()}`
  if (file.endsWith('.ts')) return asCommonJs(text)
  try {
    new Script(`(function (exports, require, module) {${text}\n})`)
  } catch (error) {
    throw new Error(
      `${file} cannot be loaded into the sandbox: it must be CommonJS (${(error as Error).message}).`,
    )
  }
  return text
}

/** The files with all modules that they need. */
const graph = (files: readonly string[]): readonly Module[] => {
  const seen = new Set<string>()
  const modules: Module[] = []
  const queue = [...files]
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    const body = bodyOf(file)
    const needs: Record<string, string> = {}
    for (const [, , specifier = ''] of body.matchAll(REQUIRE)) {
      const dependency = resolveIn(file, specifier)
      if (dependency === undefined) continue
      needs[specifier] = idOf(dependency)
      queue.push(dependency)
    }
    modules.push({ id: idOf(file), body, needs })
  }
  return modules
}

/** ASCII text: V8 stores it in one byte per character, which halves the snapshot. */
const ascii = (text: string) =>
  text.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Script of the snapshots. */
export const realmText = (): string => {
  const builtins = Object.fromEntries(
    Object.entries(BUILTINS).map(([name, file]) => [name, idOf(fileOf(file))]),
  )
  const modules = graph([join(INSIDE, 'install.ts'), ...Object.values(BUILTINS).map(fileOf)])
  const functions = modules.map(
    ({ id, body, needs }) =>
      `case ${JSON.stringify(id)}: return [function (exports, require, module, __filename, __dirname) {${body}\n}, ${JSON.stringify(needs)}]`,
  )
  // an object literal would be created in each context
  const modulesOf = `(id) => { switch (id) {\n${functions.join('\n')}\n} }`
  // strict, packages too: V8 shows tenants' code no functions of strict code in call sites
  return ascii(`'use strict';(${boot})(globalThis, '${INSTALL}', ${modulesOf}, ${JSON.stringify(builtins)})`)
}
