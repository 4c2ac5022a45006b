/** Names of code in the documents for engineers: paths and identifiers in backticks. */
import { globSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { root, type SourceFile, sourcesIn } from '../kit/sources.ts'
import { candidates, documents } from './documents.ts'

const GUIDES =
  /(^|\/)README\.md$|^CONTRIBUTING\.md$|^docs\/(architecture|where-is-what|first-change|debugging)\.md$/

/** Names of others, and of files and values that a reader makes. */
const FOREIGN = new Set([
  // Kubernetes, OpenBao and Vault, Node's debugger, Playwright
  ...['emptyDir', 'BAO_NAMESPACE', 'setBreakpoint', 'waitForFunction'],
  // the filter of docs/first-change.md, and a passport's number
  ...['test/expressions/filters/digits.test.ts', 'C01X00T47'],
])

/** Folders whose files a document names without a path, besides its own. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  envoy: ['src/control-plane', 'src/egress'],
  'src/admin': ['test/admin', 'proto'],
}

const PATH = /^(?!\.|-)[\w@.-]+(?:\/[\w.*-]+)*(?:\/|\.(?:ts|js|json|md|svg|txt|yaml|pl|css|html|proto))$/

/** A word with a capital inside, a word in capitals with an underscore, or a word that is called. */
const IDENTIFIER =
  /(?<![\w$-])(?:[a-z][a-z\d]*[A-Z][\w$]*|[A-Z][A-Z\d]*_[A-Z\d_]+|(?:[A-Z][a-z\d]+){2,}|[A-Za-z]\w*(?=\())(?![\w-])/g
/** A word with a capital, when it is all of a span. */
const TYPE = /^[A-Z][a-z]\w*$/

const CODE_BLOCK = /^ *```(\w*)\n([\s\S]*?)^ *```/gm

/** Code in backticks, and programs that a diagram names. */
const spansOf = (text: string): readonly string[] => [
  ...[...text.replaceAll(CODE_BLOCK, '').matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span),
  ...[...text.matchAll(CODE_BLOCK)].flatMap(([, language, lines = '']) =>
    language === '' ? (lines.match(/(?<![\w./-])[\w-][\w./-]*\.ts\b/g) ?? []) : [],
  ),
]

const COMMENTS = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*/gm

const code = sourcesIn('src', 'plugins', 'bin', 'test', 'examples')
const identifiers = new Set(
  code
    .filter(({ path }) => path !== 'test/docs/symbols.test.ts')
    .flatMap(({ text }) => text.replaceAll(COMMENTS, '').match(/[A-Za-z_$][\w$]*/g) ?? []),
)

const namesIn = (span: string): readonly string[] =>
  TYPE.test(span) ? [span] : [...span.matchAll(IDENTIFIER)].map(([name]) => name)

const deadIdentifiers = ({ path, text }: SourceFile): readonly string[] =>
  spansOf(text)
    .flatMap(namesIn)
    .filter((name) => !identifiers.has(name) && !FOREIGN.has(name))
    .map((name) => `${path}: ${name}`)

const files = ['src', 'plugins', 'bin', 'test', 'examples', 'proto', 'docs', 'envoy', 'spec']
  .flatMap((folder) => globSync(`${folder}/**`, { cwd: root }))
  .map((path) => `/${path}`)

/** Relative to the document, to the project or to src/; or below the document's folder, its tests or its rooms. */
const isFile = (from: string, path: string): boolean => {
  const room = dirname(from)
  const rooms = [
    room === '.' || room === 'docs' ? '' : room,
    room.replace(/^src/, 'test'),
    ...(ROOMS[room] ?? []),
  ]
  const name = path.replace(/\/$/, '')
  return (
    candidates(from, path).length > 0 ||
    candidates('src/x', path).length > 0 ||
    (path.includes('*') && globSync(path, { cwd: root }).length > 0) ||
    files.some((file) => file.endsWith(`/${name}`) && rooms.some((each) => file.startsWith(`/${each}`)))
  )
}

const deadPaths = ({ path, text }: SourceFile): readonly string[] =>
  spansOf(text)
    .filter((span) => PATH.test(span) && !isFile(path, span) && !FOREIGN.has(span))
    .map((span) => `${path}: ${span}`)

t.test('paths and identifiers in documents for engineers exist', async (t) => {
  const guides = documents.filter(({ path }) => GUIDES.test(path))
  t.ok(guides.length > 30, 'the documents are found')
  t.same(guides.flatMap(deadPaths), [], 'paths')
  t.same(guides.flatMap(deadIdentifiers), [], 'identifiers')
})

t.test('the search finds names of files and code that do not exist', async (t) => {
  const text =
    '`nothing.ts` `vault.ts` `keys/seal.ts` `nowhere/` `noSuchFunction(x)` `noSuchThing` `createVault` `NoSuchType` `SVC-API-KEY`\n' +
    '```\nvault.ts ─▶ none.ts\n```\n```sh\nmine.ts\n```\n'
  const document = { path: 'src/vault/README.md', text }
  t.same(
    deadPaths(document).map((line) => line.replace(/.*: /, '')),
    ['nothing.ts', 'nowhere/', 'none.ts'],
  )
  t.same(
    deadIdentifiers(document).map((line) => line.replace(/.*: /, '')),
    ['noSuchFunction', 'noSuchThing', 'NoSuchType'],
  )
})
