import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root, type SourceFile, sourcesIn } from './kit/sources.ts'

const FOLDERS = ['src', 'plugins', 'bin', 'test', 'examples'] as const

/** Words that names had before they had the field's; docs/glossary.md has those that names have now. */
const RETIRED = new Set(
  [
    'answer answers fault faults faulty brand brands patience patient stillborn litter leftover leftovers',
    'foresee foresees foreseen rehearse rehearsed rehearsal refuse refuses refused refusal refusals',
    'told tell tells taken nobody whoever begun upkeep spare spares sparing',
    'unsaid born birth walls fence forgotten farewell anew',
  ].flatMap((line) => line.split(' ')),
)

/** Names that mean what the field means by them. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // DNS: the section of a packet; and a member of an example
  answers: ['test/kit/dns.ts', 'plugins/token/index.ts'],
  Answer: ['test/kit/dns.ts'],
  // the account of Unix
  NOBODY_UID: ['src/sandbox/parent/confinement.ts'],
  // card brands
  brand: ['test/sandbox/compat/programs/card-brand.js'],
  brands: ['test/sandbox/compat/programs/card-brand.js'],
}

const FAULT_INJECTION = /^test\/(faults\/|kit\/fault|envoy\/fail-closed)/

/** Words that comments, test titles, messages and examples do not have. */
const RETIRED_IN_TEXT = new RegExp(
  String.raw`\b(?:${[
    'answer(?:s|ed|ing)?|faults?|faulty|brand|patience|stillborn|born|litter|leftovers?|rehears(?:al|ed)',
    'refus(?:e|es|ed|al|als)|told|nobody|whoever|begun|upkeep|unsaid|farewell|meanwhile',
  ].join('|')})\b`,
  'gi',
)

/** Phrases in which a word means what its field means by it. */
const ALLOWED_TEXT: readonly (readonly [path: RegExp, phrase: RegExp])[] = [
  // the account of Unix
  [/^test\/kit\/postgres-binaries/, /nobody/g],
  // the outcome of a call (completions §7)
  [/./, /\banswered\b/gi],
  // of cards, and of the product
  [/./, /card.?brands?\b/gi],
  // paths
  [/./, /\/faults\b/g],
  [FAULT_INJECTION, /fault/gi],
]

/** Files whose name is right: fault injection, and card brands. */
const ALLOWED_FILES = /^test\/(faults\/|faults$|kit\/fault|store\/postgres\/faults|sandbox\/.*card-brand)/

/** Comments, strings and regular expressions are skipped; the group is an identifier. */
const TOKENS =
  /\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\[\s\S]|\$(?!\{)|\$\{(?:[^`{}]|`[^`]*`|\{[^{}]*\})*\})*`|(?<=[=(,:!&|?[{};]\s*|return\s)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|(?<name>[A-Za-z_$][\w$]*)/g

const wordsOf = (name: string): readonly string[] =>
  name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/).map((word) => word.toLowerCase())

const retired = (name: string): boolean =>
  name.startsWith('MOST_') || wordsOf(name).some((word) => RETIRED.has(word))

const namesIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(TOKENS)].flatMap(({ groups }) => groups?.name ?? [])),
]

/** Retired words of comments, strings and regular expressions. Tests of the interface quote it in their titles. */
const retiredTexts = ({ path, text }: SourceFile): readonly string[] =>
  [...text.matchAll(TOKENS)].flatMap(({ 0: part, index: start, groups }) => {
    if (groups?.name !== undefined || (path.startsWith('test/spec/') && part.startsWith('\'"'))) return []
    const searched = ALLOWED_TEXT.filter(([where]) => where.test(path)).reduce(
      (rest, [, phrase]) => rest.replaceAll(phrase, (found) => ' '.repeat(found.length)),
      part,
    )
    return [...searched.matchAll(RETIRED_IN_TEXT)].map(({ 0: word, index }) => {
      const line = text.slice(0, start + index).split('\n').length
      return `${path}:${line}: ${word} in "${part.slice(Math.max(0, index - 15), index + 30)}"`
    })
  })

const files = sourcesIn(...FOLDERS).filter(
  ({ path }) => path !== 'test/words.test.ts' && !path.startsWith('test/sandbox/compat/programs/'),
)

t.test('file names have no retired word', async (t) => {
  const paths = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  t.ok(paths.length > 1_000, 'the files are found')
  t.same(
    paths.filter((path) => retired(path) && !ALLOWED_FILES.test(path)),
    [],
  )
})

t.test('identifiers have no retired word', async (t) => {
  const found = files.flatMap(({ path, text }) =>
    namesIn(text)
      .filter((name) => retired(name) && !ALLOWED[name]?.includes(path))
      .filter((name) => !(wordsOf(name).some((word) => /^fault/.test(word)) && FAULT_INJECTION.test(path)))
      .map((name) => `${path}: ${name}`),
  )
  t.same(found, [], 'take the word of docs/glossary.md')
})

t.test('comments and strings have no retired word', async (t) => {
  t.same(files.flatMap(retiredTexts), [], 'take the word of docs/glossary.md')
})

t.test('comment lines have 120 columns at most', async (t) => {
  const found = files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, index) =>
        line.length > 120 && /^\s*(?:\/\/|\/?\*)/.test(line) ? [`${path}:${index + 1}`] : [],
      ),
  )
  t.same(found, [])
})

t.test('the search distinguishes identifiers from text', async (t) => {
  const text = "const isRefused = told`taken` + 'nobody' // begun\nread(/answer/, { xAnswer: 1 }) /* brand */"
  t.same(namesIn(text).filter(retired), ['isRefused', 'told', 'xAnswer'])
  t.same(
    retiredTexts({ path: 'x.ts', text: "read('nobody') // begun\n/*\n * a card brand, told */" }).map(
      (issue) => issue.split(' ', 2).join(' '),
    ),
    ['x.ts:1: nobody', 'x.ts:1: begun', 'x.ts:3: told'],
  )
})
