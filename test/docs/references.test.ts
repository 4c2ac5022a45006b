import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import t from 'tap'
import { root, type SourceFile, sourcesIn } from '../kit/sources.ts'
import { candidates, documents, withoutFences } from './documents.ts'

/** Documents of others, which are not in this repository. */
const STANDARD = /^(RFC \d+|NIST SP [\w-]+|XML 1\.0|ICAO [\d-]+|X\.\d+)$/

/** Names that a reader's own files have. */
const OF_READERS =
  /^(\.\.\/member-card\/.*|index\.ts|visits\.ts|(test\/expressions\/filters\/)?digits\.test\.ts|key-provider\.ts|.*\*.*)$/

/** Comments of a program, each on one line. */
const commentsOf = (text: string): string =>
  [...text.matchAll(/\/\*\*?([\s\S]*?)\*\/|(?:(?<=^|[\s;{])\/\/.*\n?\s*)+/g)]
    .map(([comment]) => comment.replaceAll(/\s*\n\s*(\*|\/\/)?\s*/g, ' '))
    .join('\n')

/** The names of a document's sections, as GitHub makes anchors of them. */
const slugOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

const headingsOf = (path: string): readonly string[] =>
  [...withoutFences(readFileSync(join(root, path), 'utf8')).matchAll(/^#{1,6} (.+)$/gm)].map(
    ([, text = '']) => text,
  )

const titleOf = (path: string): string => /^# (.+)$/m.exec(readFileSync(join(root, path), 'utf8'))?.[1] ?? ''

/** A quoted name is part of a heading, or the beginning of a paragraph or item. */
const hasSection = (path: string, name: string): boolean => {
  const wanted = name.toLowerCase()
  const lines = readFileSync(join(root, path), 'utf8').toLowerCase().replaceAll('`', '').split('\n')
  return lines.some((line) =>
    line.startsWith('#') ? line.includes(wanted) : line.replace(/^(- )?(\*\*)?/, '').startsWith(wanted),
  )
}

const hasAnchor = (path: string, anchor: string): boolean =>
  headingsOf(path).some((heading) => slugOf(heading) === anchor) ||
  readFileSync(join(root, path), 'utf8').includes(`<a id="${anchor}">`)

const deadLinks = ({ path, text }: SourceFile): readonly string[] =>
  [...withoutFences(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target) || target.startsWith('/')) return []
    const [file = '', anchor] = target.split('#')
    const document = file === '' ? path : posix.join(dirname(path), file)
    if (!existsSync(join(root, document))) return [`${path}: ${target}`]
    return anchor === undefined || hasAnchor(document, anchor) ? [] : [`${path}: ${target}`]
  })

const programs = sourcesIn('src', 'plugins', 'bin', 'test', 'examples').map(({ path }) => `/${path}`)

/** Files that a document names in backticks; programs also by their name alone. */
const deadPaths = ({ path, text }: SourceFile): readonly string[] => [
  ...[
    ...withoutFences(text).matchAll(
      /`((?:src|plugins|test|docs|spec|bin|envoy|examples|proto)\/[\w./*-]*)`/g,
    ),
  ].flatMap(([, name = '']) =>
    globSync(name, { cwd: root }).length > 0 || candidates(path, name).length > 0 || OF_READERS.test(name)
      ? []
      : [`${path}: ${name}`],
  ),
  ...[...text.matchAll(/`([\w./-]+\.ts)`/g)].flatMap(([, name = '']) =>
    programs.some((each) => each.endsWith(`/${name}`)) || OF_READERS.test(name) ? [] : [`${path}: ${name}`],
  ),
]

/** `x.md`, `x.md, "Section"`. */
const deadDocuments = ({ path, text }: SourceFile): readonly string[] =>
  [...text.matchAll(/(?<![\w/.<*-])([\w./-]+\.md)\b(?:,? "([^"]+)")?/g)].flatMap(
    ([mention, name = '', section]) => {
      const holds = candidates(path, name).some((each) => section === undefined || hasSection(each, section))
      return holds ? [] : [`${path}: ${mention}`]
    },
  )

/** `completions §5`, `interface, "Tokenize", "Errors"`; of other marks a standard must be named before them. */
const deadSections = ({ path, text }: SourceFile): readonly string[] => {
  const dead: string[] = []
  for (const [mention, names = ''] of text.matchAll(/\binterface,? ((?:"[^"]+"(?:, | and )?)+)/g))
    for (const [, name = ''] of names.matchAll(/"([^"]+)"/g))
      if (!hasSection('spec/interface.md', name)) dead.push(`${path}: ${mention}`)
  let source = ''
  const marks =
    /(RFC \d+|NIST SP [\w-]+|XML 1\.0|ICAO [\d-]+|X\.\d+|\bcompletions|[\w./-]+\.md)\b|§ ?(\d+[a-z]?)?|\n/g
  for (const [mark, name, section] of text.matchAll(marks)) {
    if (name !== undefined || mark === '\n') {
      source = name ?? ''
      continue
    }
    if (STANDARD.test(source)) continue
    const [document] = source === 'completions' ? ['spec/completions.md'] : candidates(path, source || 'none')
    if (!document || !headingsOf(document).some((heading) => heading.startsWith(`${section}. `)))
      dead.push(`${path}: ${source} §${section}`)
  }
  return dead
}

const comments = sourcesIn('src', 'plugins', 'bin', 'test', 'examples')
  .filter(({ path }) => path !== 'test/docs/references.test.ts')
  .map(({ path, text }) => ({ path, text: commentsOf(text) }))

const deployment = [
  'Dockerfile',
  'docker-compose.yml',
  ...globSync('examples/kubernetes/*.yaml', { cwd: root }),
].map((path) => ({ path, text: readFileSync(join(root, path), 'utf8').replaceAll(/\n *# /g, ' ') }))

t.test('links and paths in documents resolve', async (t) => {
  t.ok(documents.length > 20, 'the documents are found')
  t.same(documents.flatMap(deadLinks), [], 'links')
  t.same(documents.flatMap(deadPaths), [], 'paths in backticks')
})

t.test('documents and sections that comments and documents name exist', async (t) => {
  const paragraphs = documents.map(({ path, text }) => ({
    path,
    text: withoutFences(text).replaceAll(/(?<!\n)\n(?=\S)/g, ' '),
  }))
  t.ok(
    comments.some(({ text }) => text.includes('completions §')),
    'references are found',
  )
  t.same([...comments, ...deployment].flatMap(deadDocuments), [], 'documents')
  t.same([...comments, ...paragraphs].flatMap(deadSections), [], 'sections')
})

t.test('log messages quoted in the operations guide are in the code', async (t) => {
  const guide = readFileSync(join(root, 'docs/guides/operations.md'), 'utf8')
  const quoted = [...guide.matchAll(/`([a-z]+(?: [a-z,]+){1,})`/g)].map(([, message = '']) => message)
  const programs = sourcesIn('src').map(({ text }) => text)
  t.ok(quoted.length > 1, 'messages are quoted')
  t.same(
    quoted.filter(
      (message) => !/^(sidevault|docker) /.test(message) && !programs.some((text) => text.includes(message)),
    ),
    [],
  )
})

t.test('the architecture lists every folder of src, and each has a README', async (t) => {
  const [, folders = ''] = readFileSync(join(root, 'docs/architecture.md'), 'utf8').split('## Folders')
  const listed = [...folders.matchAll(/^src\/([\w-]+)\/ /gm)].map(([, name = '']) => name)
  t.same(
    listed.filter((name) => !existsSync(join(root, 'src', name, 'README.md'))),
    [],
  )
  t.same(
    listed.sort(),
    [...new Set(globSync('src/*/', { cwd: root }).map((path) => path.split('/')[1]))].sort(),
  )
})

t.test('the index of decisions has each one, by its number and title', async (t) => {
  const listed = [...readFileSync(join(root, 'docs/adr/README.md'), 'utf8').matchAll(/^- (\[.*)$/gm)]
  const files = globSync('docs/adr/[0-9]*.md', { cwd: root }).map((path) => posix.basename(path))
  t.same(
    listed.map(([, line]) => line).sort(),
    files.map((name) => `[${name.slice(0, 4)}](${name}) ${titleOf(`docs/adr/${name}`)}`).sort(),
  )
  t.equal(new Set(files.map((name) => name.slice(0, 4))).size, files.length, 'no number twice')
})

t.test('the README has at most 150 lines', async (t) => {
  t.ok(readFileSync(join(root, 'README.md'), 'utf8').split('\n').length <= 151)
})

t.test('the changelog has one unreleased section, then versions', async (t) => {
  const sections = headingsOf('CHANGELOG.md').filter((heading) => /^(Unreleased|\d)/.test(heading))
  t.equal(sections[0], 'Unreleased')
  t.same(
    sections.slice(1).filter((heading) => !/^\d+\.\d+\.\d+ - \d{4}-\d{2}-\d{2}$/.test(heading)),
    [],
  )
  t.equal(new Set(sections).size, sections.length)
})

t.test('the search finds dead links', async (t) => {
  const dead = (text: string) => {
    const file = { path: 'src/vault/x.ts', text: commentsOf(text) }
    return [...deadDocuments(file), ...deadSections(file)]
  }
  t.same(
    dead('/** README.md; completions §5, §6; interface "Errors"; RFC 9110 §5.6 */\n// completions §12\n'),
    [],
  )
  t.same(dead('// envoy.md, "Routes"\n/** completions\n * §99 */\n// DESIGN §7\n// interface, "No such"'), [
    'src/vault/x.ts: envoy.md, "Routes"',
    'src/vault/x.ts: interface, "No such"',
    'src/vault/x.ts: completions §99',
    'src/vault/x.ts:  §7',
  ])
  const document = { path: 'docs/x.md', text: '[a](nothing.md) [b](security-model.md#no) `src/nothing.ts`' }
  t.same(deadLinks(document), ['docs/x.md: nothing.md', 'docs/x.md: security-model.md#no'])
  t.same(deadPaths(document), ['docs/x.md: src/nothing.ts', 'docs/x.md: src/nothing.ts'])
})
