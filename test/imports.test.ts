import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, posix } from 'node:path'
import t from 'tap'
import { root, type SourceFile, sourcesIn } from './kit/sources.ts'

/**
 * Who may import whom (docs/architecture.md, "Imports"). `types`: of these only types, so that a part is handed its
 * collaborators and can be read, tested and replaced without them.
 */
const ALLOWED: Readonly<Record<string, { readonly values: string; readonly types?: string }>> = {
  common: { values: '' },
  sdk: { values: 'common' },
  // helpers of the built-in plugins
  kit: { values: 'common access egress sdk' },
  // who may do what, for the API and the proxy alike, and the audit record of it
  access: { values: 'common egress', types: 'sdk store' },
  config: { values: 'common' },
  store: { values: 'common', types: 'sdk' },
  'shared-state': { values: 'common' },
  keys: { values: 'common', types: 'store sdk' },
  audit: { values: 'common access', types: 'store' },
  expressions: { values: 'common', types: 'sdk' },
  vault: { values: 'common access egress expressions sdk', types: 'sdk store keys audit' },
  kernel: { values: 'common access', types: 'sdk store keys audit expressions' },
  // HTTP/2, gRPC framing and the messages of ext_proc; what Envoy's configuration and the gateway agree on
  'ext-proc': { values: 'common' },
  // the rules for destinations, for Envoy and for code
  egress: { values: 'common ext-proc', types: 'sdk' },
  'control-plane': { values: 'common egress ext-proc' },
  gateway: {
    values: 'common access control-plane egress ext-proc expressions forward-proxy',
    types: 'sdk kernel audit',
  },
  // what the forward proxy opens for whom, and its certificates
  'forward-proxy': { values: 'common egress keys', types: 'sdk kernel store' },
  admin: { values: 'common kernel', types: 'sdk' },
  // runs in browsers: packages are held to two names below
  console: { values: '', types: 'sdk' },
  sandbox: { values: 'common', types: 'sdk' },
  'host-api': { values: 'common egress', types: 'sdk kernel sandbox' },
  supervisor: { values: 'common config control-plane egress forward-proxy' },
  // the composition roots know all parts
  roles: {
    values:
      'common access config store keys audit expressions vault kernel gateway control-plane admin supervisor shared-state sandbox egress ext-proc host-api forward-proxy',
    types: 'sdk',
  },
  // what operators do to a whole vault, beside its service or without it
  maintenance: {
    values: 'common access config store keys audit vault kernel roles supervisor forward-proxy',
    types: 'sdk',
  },
  // a whole vault for the tests of plugins
  testing: { values: 'common config kernel admin gateway roles' },
  commands: {
    values:
      'common config expressions kernel admin supervisor control-plane gateway egress host-api sandbox maintenance',
    types: 'sdk',
  },
  main: { values: 'common config supervisor roles commands' },
}

interface Import {
  readonly target: string
  readonly typesOnly: boolean
}

const IMPORTS =
  /(?:^|\n)\s*(?:import|export)\s+(?<type>type\s)?(?:[\w*{}\s,$]+\sfrom\s+)?'(?<static>[^']+)'|\bimport\(\s*'(?<dynamic>[^']+)'/g

const importsOf = ({ text }: SourceFile): readonly Import[] =>
  [...text.matchAll(IMPORTS)].map(({ groups = {} }) => ({
    target: groups.static ?? groups.dynamic ?? '',
    typesOnly: groups.type !== undefined,
  }))

/** `vault` for src/vault/x.ts, `config` for src/config.ts and src/config/x.ts, `plugins/card` for plugins/card/x.ts. */
const partOf = (path: string): string => {
  const [top = '', name = ''] = path.split('/')
  return top === 'src' ? name.replace(/\.ts$/, '') : `${top}/${name}`
}

const forbidden = (file: SourceFile): readonly string[] => {
  const part = partOf(file.path)
  const { values = '', types = '' } = ALLOWED[part] ?? {}
  return importsOf(file).flatMap(({ target, typesOnly }) => {
    if (!target.startsWith('.')) return []
    const other = partOf(posix.join(dirname(file.path), target))
    const allowed = [part, ...values.split(' '), ...(typesOnly ? types.split(' ') : [])]
    return allowed.includes(other) ? [] : [`${file.path} imports ${typesOnly ? 'types of ' : ''}${other}`]
  })
}

t.test('parts of src/ import only those that the table allows', async (t) => {
  const files = sourcesIn('src')
  t.ok(files.length > 50, 'the files are found')
  t.same(files.flatMap(forbidden), [])
  t.same(
    files.map(({ path }) => partOf(path)).filter((part) => !(part in ALLOWED)),
    [],
    'every part has its line in the table',
  )
})

t.test(
  'plugins import #sdk, #kit, packages and their own files: never src/ and never each other',
  async (t) => {
    const files = sourcesIn('plugins')
    t.ok(files.length > 10, 'the files are found')
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter(({ target }) =>
          target.startsWith('.')
            ? partOf(posix.join(dirname(file.path), target)) !== partOf(file.path)
            : target.startsWith('#') && !['#sdk', '#kit'].includes(target),
        )
        .map(({ target }) => `${file.path} imports ${target}`),
    )
    t.same(wrong, [])
  },
)

t.test('webhooks are made of the public SDK alone', async (t) => {
  const files = sourcesIn('plugins/webhooks')
  t.ok(files.length > 5, 'the files are found')
  const wrong = files.flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => target.startsWith('#') && target !== '#sdk')
      .map(({ target }) => `${file.path} imports ${target}`),
  )
  t.same(wrong, [])
})

t.test('production code imports only packages that npm start installs', async (t) => {
  const manifest: { readonly name: string; readonly dependencies: Record<string, string> } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const packages = [manifest.name, ...Object.keys(manifest.dependencies)]
  const wrong = sourcesIn('src', 'plugins', 'bin').flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => !target.startsWith('.') && !target.startsWith('#') && !isBuiltin(target))
      .filter(({ target }) => !packages.some((name) => target === name || target.startsWith(`${name}/`)))
      .map(({ target }) => `${file.path} imports ${target}`),
  )
  t.same(wrong, [])
})

/** Rooms that a proxied call passes (docs/adr/0071-hot-paths-return-values.md, "The border"). */
const HOT = 'gateway vault keys store kernel forward-proxy shared-state common'.split(' ')

t.test('only rooms on the hot path return a value or a promise', async (t) => {
  const wrong = sourcesIn('src', 'plugins').flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => target.endsWith('/eventual.ts') && !HOT.includes(partOf(file.path)))
      .map(({ target }) => `${file.path} imports ${target}`),
  )
  t.same(wrong, [])
})

t.test('console pages import only lit-html and signals, which no other part does', async (t) => {
  const PAGES = /^(?:lit-html(?:\/|$)|@preact\/signals-core$)/
  const wrong = sourcesIn('src', 'plugins', 'bin').flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => !target.startsWith('.'))
      .filter(({ target }) => PAGES.test(target) !== (partOf(file.path) === 'console'))
      .filter(({ target }) => PAGES.test(target) || partOf(file.path) === 'console')
      .map(({ target }) => `${file.path} imports ${target}`),
  )
  t.same(wrong, [])
})

/** Modules that a sandbox child loads, with their imports of values (src/sandbox/parent/sources.ts). */
const modulesOfChild = (): ReadonlyMap<string, readonly string[]> => {
  const files = new Map(sourcesIn('src').map((file) => [file.path, file]))
  const loaded = new Map<string, readonly string[]>()
  const waiting = ['src/sandbox/child/main.ts', 'src/sandbox/realm/realm.ts']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const file = files.get(path)
    if (file === undefined || loaded.has(path)) continue
    const targets = importsOf(file)
      .filter(({ target, typesOnly }) => target.startsWith('.') && !typesOnly)
      .map(({ target }) => posix.join(dirname(file.path), target))
    loaded.set(path, targets)
    waiting.push(...targets)
  }
  return loaded
}

t.test('a sandbox child loads only modules that it is sent', async (t) => {
  const loaded = modulesOfChild()
  t.ok(loaded.size > 10, 'the modules are found')
  const wrong = [...loaded].flatMap(([path, targets]) =>
    targets
      .filter((target) => !target.startsWith('src/sandbox/') || /\/(?:parent|guest)\//.test(target))
      .map((target) => `${path} imports ${target}`),
  )
  t.same(wrong, [])
})

t.test('the search finds every spelling of an import', async (t) => {
  const text = `import a from 'a'
import { b, type B } from './b.ts'
import type { C } from '../c/c.ts'
import 'd'
export * from 'e'
export type * from 'f'
import {
  g,
} from 'g'
const h = await import('h')
`
  t.same(
    importsOf({ path: 'x', text }).map(({ target, typesOnly }) => (typesOnly ? `type ${target}` : target)),
    ['a', './b.ts', 'type ../c/c.ts', 'd', 'e', 'type f', 'g', 'h'],
  )
  t.same(forbidden({ path: 'src/vault/x.ts', text: "import { x } from '../keys/open.ts'\n" }), [
    'src/vault/x.ts imports keys',
  ])
})
