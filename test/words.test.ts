import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { root, sourcesIn } from './kit/sources.ts'

const FOLDERS = ['src', 'plugins', 'bin', 'test'] as const

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

/** Files whose name is right: fault injection, and card brands. */
const ALLOWED_FILES = /^test\/(faults\/|faults$|kit\/fault|store\/postgres\/faults|sandbox\/.*card-brand)/
const FAULT_INJECTION = /^test\/(faults\/|kit\/fault|e2e\/fail-closed)/

/** Comments, strings and regular expressions are skipped; the group is an identifier. */
const TOKENS =
  /\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\[\s\S]|\$(?!\{)|\$\{(?:[^`{}]|`[^`]*`|\{[^{}]*\})*\})*`|(?<=[=(,:!&|?[{};]\s*|return\s)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/|(?<name>[A-Za-z_$][\w$]*)/g

const wordsOf = (name: string): readonly string[] =>
  name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/).map((word) => word.toLowerCase())

const retired = (name: string): boolean => wordsOf(name).some((word) => RETIRED.has(word))

const namesIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(TOKENS)].flatMap(({ groups }) => groups?.name ?? [])),
]

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
  const files = sourcesIn(...FOLDERS).filter(({ path }) => path !== 'test/words.test.ts')
  const found = files.flatMap(({ path, text }) =>
    namesIn(text)
      .filter((name) => retired(name) && !ALLOWED[name]?.includes(path))
      .filter((name) => !(wordsOf(name).some((word) => /^fault/.test(word)) && FAULT_INJECTION.test(path)))
      .map((name) => `${path}: ${name}`),
  )
  t.same(found, [], 'take the word of docs/glossary.md')
})

t.test('the search sees identifiers and their words, never text', async (t) => {
  const text = "const isRefused = told`taken` + 'nobody' // begun\nread(/answer/, { xAnswer: 1 }) /* brand */"
  t.same(namesIn(text).filter(retired), ['isRefused', 'told', 'xAnswer'])
})
