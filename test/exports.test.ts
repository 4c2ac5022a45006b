import { dirname, posix } from 'node:path'
import t from 'tap'
import { type SourceFile, sourcesIn } from './kit/sources.ts'

/** Exports without a use that are right, with the reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  'src/sandbox/child/main.ts runChild': 'called by src/sandbox/child/boot.js',
}

/** Not searched: modules that are loaded by computed names. */
const COMPUTED = /^(?:bin|src\/sandbox\/realm\/guest|test\/sandbox\/compat\/programs)\//

const ALIASES: Readonly<Record<string, string>> = {
  '#sdk': 'src/sdk/index.ts',
  '#kit': 'src/kit/index.ts',
  'sidevault/sdk': 'src/sdk/index.ts',
  'sidevault/testing': 'src/testing/index.ts',
}

/** `import … from`, `export … from`, `import('…')` with the members that are read, and files that are run. */
const IMPORTS =
  /\b(?:import|export)\s+(?:type\s+)?(?:\w+\s*,?\s*)?(?<names>\{[^}]*\}|\*(?:\s+as\s+\w+)?)?\s*from\s+'(?<from>[^']+)'|(?:\{(?<members>[^{}]*)\}\s*=\s*await\s+)?import\(\s*'(?<dynamic>[^']+)'\s*\)(?:\)?\.(?<member>\w+)|\.then\(\(\{(?<then>[^{}]*)\})?|new URL\('(?<url>[^']+)'/g

const EXPORTS =
  /^export\s+(?:declare\s+)?(?:async\s+)?(?:const|let|function\*?|(?:abstract\s+)?class|interface|type)\s+(?<name>\w+)/gm

/** `a, type b, c as d, e: f` without types, aliases and braces. */
const namesOf = (list: string): readonly string[] =>
  list
    .split(',')
    .map((name) => /^\s*(?:type\s+)?(\w+)/.exec(name)?.[1] ?? '')
    .filter((name) => name !== '')

interface Use {
  /** `path name`; `path *` for all names. */
  readonly of: string
  readonly by: string
}

const usesIn = ({ path, text }: SourceFile): readonly Use[] =>
  [...text.matchAll(IMPORTS)].flatMap(({ groups = {} }) => {
    const { names, from, members, dynamic, member, then, url } = groups
    const specifier = from ?? dynamic ?? url ?? ''
    const target =
      ALIASES[specifier] ??
      (specifier.startsWith('.') ? posix.normalize(posix.join(dirname(path), specifier)) : undefined)
    if (target === undefined) return []
    const list = names?.startsWith('{') ? names.slice(1, -1) : (members ?? member ?? then)
    return (list === undefined ? ['*'] : namesOf(list)).map((name) => ({ of: `${target} ${name}`, by: path }))
  })

/** Files whose exports tests may use alone: their own, and modules of the package. */
const isForTests = (path: string): boolean =>
  /^(?:test|examples)\//.test(path) || Object.values(ALIASES).includes(path)

/** The generator of docs/reference/ prints figures and names of the code: no test. */
const isTest = (path: string): boolean => /^(?:test|examples)\/(?!docs\/reference\/)/.test(path)

/** Names by which the kernel imports plugins. */
const OF_PLUGINS = ['plugin', 'keyProvider']

/** `path name` of exports that no other file imports, or only tests do. */
const unusedExports = (files: readonly SourceFile[]): readonly string[] => {
  const users = Map.groupBy(files.flatMap(usesIn), ({ of }) => of)
  return files.flatMap(({ path, text }) =>
    [...text.matchAll(EXPORTS)]
      .map(({ groups }) => groups?.name ?? '')
      .filter((name) => {
        const by = [...(users.get(`${path} ${name}`) ?? []), ...(users.get(`${path} *`) ?? [])]
        return !OF_PLUGINS.includes(name) && by.every((use) => !isForTests(path) && isTest(use.by))
      })
      .map((name) => `${path} ${name}`),
  )
}

t.test('every export has a use in another file, and one of the source not only in tests', async (t) => {
  const unused = unusedExports(sourcesIn('src', 'plugins', 'bin', 'test', 'examples'))
  t.same(
    unused.filter((name) => !COMPUTED.test(name) && !(name in ALLOWED)),
    [],
    'make it private, or delete it',
  )
  t.same(
    Object.keys(ALLOWED).filter((name) => !unused.includes(name)),
    [],
    'every line of the list is needed',
  )
})

t.test('the search finds every spelling of an import', async (t) => {
  const sources = [
    [
      'src/a.ts',
      'export const a = 1\nexport type B = 1\nexport function c() {}\nexport class D {}\nexport const e = 1\n',
    ],
    [
      'src/b.ts',
      "import { a, type B } from './a.ts'\nconst { c: x } = await import('./a.ts')\nexport const f = a\n",
    ],
    ['test/c.ts', "import type { D } from '../src/a.ts'\nexport const g = (await import('../src/b.ts')).f\n"],
  ] as const
  t.same(unusedExports(sources.map(([path, text]) => ({ path, text }))), [
    'src/a.ts D',
    'src/a.ts e',
    'src/b.ts f',
    'test/c.ts g',
  ])
})
