import t from 'tap'
import { ApiError } from '../../../src/console/api/problem.ts'
import { fromLocal, toLocal } from '../../../src/console/kit/time.ts'
import { groupsOf, loadAccess } from '../../../src/console/screens/tokens/access-entries.ts'
import { maskedData } from '../../../src/console/screens/tokens/cells.ts'
import { typesOf } from '../../../src/console/screens/tokens/create.ts'
import {
  inputOf,
  metadataPatch,
  metadataText,
  parseMetadata,
} from '../../../src/console/screens/tokens/input.ts'
import { FIELDS, suggest } from '../../../src/console/screens/tokens/language.ts'
import {
  containerOf,
  EXPIRIES,
  listQuery,
  metadataOf,
  searchQuery,
} from '../../../src/console/screens/tokens/query.ts'
import { parseQuery } from '../../../src/vault/search/parser.ts'
import { textOf } from './kit.ts'

const issuesOf = (work: () => unknown): unknown => {
  try {
    work()
  } catch (error) {
    if (error instanceof ApiError) return error.issues
    throw error
  }
  return undefined
}

const NOW = Date.parse('2030-01-31T12:00:00Z')
const NONE = { q: '', type: '', container: '', metadata: '', expiry: '' }
const parses = (query: string) => parseQuery(query, (text) => Buffer.from(text))

t.test('filters become one query of the search language', async (t) => {
  t.equal(searchQuery(NONE, NOW), '')
  t.equal(searchQuery({ ...NONE, q: ' type:a OR type:b ' }, NOW), 'type:a OR type:b')
  const all = {
    q: 'type:a OR id:b',
    type: 'card',
    container: 'pci/High',
    metadata: 'order=7 "b"',
    expiry: 'day',
  }
  t.equal(
    searchQuery(all, NOW),
    String.raw`(type:a OR id:b) AND type:"card" AND container:"/pci/High/" AND metadata.order:"7 \"b\"" AND expires_at:[* TO "2030-02-01T12:00:00.000Z"]`,
  )
  for (const expiry of ['', ...Object.keys(EXPIRIES), 'other'])
    for (const metadata of ['', 'order', 'a.b-c: x\\y"*', 'not a key'])
      for (const type of ['', '"', '\\', '"\\"', 'a) OR (type:b'])
        for (const q of ['', 'id:a*', 'NOT type:b']) {
          const query = searchQuery({ ...NONE, q, type, metadata, expiry }, NOW)
          if (query !== '') t.doesNotThrow(() => parses(query), query)
        }
})

t.test('filters without a search become list parameters', async (t) => {
  t.strictSame(listQuery({ ...NONE, q: 'x', type: 'card', container: 'pci', metadata: 'order: 7' }), {
    type: 'card',
    container: '/pci/',
    'metadata[order]': '7',
  })
  t.strictSame(listQuery({ ...NONE, metadata: 'order' }), {})
  t.strictSame(['', '/', 'a', '//a//b/'].map(containerOf), ['', '', '/a/', '/a/b/'])
  t.strictSame(metadataOf(' order = a = b '), { key: 'order', value: 'a = b' })
  t.equal(metadataOf('two words=1'), undefined)
})

const KNOWN = { types: ['card', 'bank'], containers: ['/pci/', '/hr/'], metadata: ['order'], now: NOW }
const inserts = (text: string, caret = text.length) => suggest(text, caret, KNOWN).map(({ insert }) => insert)

t.test('suggestions follow the caret', async (t) => {
  t.strictSame(inserts('ty'), ['type:'])
  t.strictSame(inserts('-exp'), ['expires_at:'])
  t.strictSame(inserts('type:'), ['card ', 'bank '])
  t.strictSame(inserts('(type:c'), ['card '])
  t.strictSame(inserts('metadata.'), ['metadata.order:'])
  t.strictSame(inserts('type:card ').slice(0, 4), ['AND ', 'OR ', 'NOT ', 'id:'])
  t.strictSame(inserts('type:card AND ')[0], 'id:', 'a field follows an operator')
  t.strictSame(inserts('NOT '), inserts(''), 'and a negation')
  t.match(inserts('expires_at:'), ['[* TO 2030-02-07] ', /2030-03-02/, '[* TO *] '])
  for (const text of ['metadata.order:"', 'metadata.a:"x \\" ty', 'created_at:[20', 'created_at:{a TO '])
    t.strictSame(inserts(text), [], text)
  t.strictSame(inserts('type:card AND x', 7), ['card '], 'in the middle')
})

t.test('a suggestion replaces the word at the caret', async (t) => {
  const apply = (typed: string, at = typed.length) => {
    const { text, caret } = suggest(typed, at, KNOWN)[0]!
    return { text, caret }
  }
  t.strictSame(apply('a:b ty'), { text: 'a:b type:', caret: 9 })
  t.strictSame(apply('type:c AND id:x', 6), { text: 'type:card AND id:x', caret: 10 })
})

t.test('every field of the help is one of the language, and its example is valid', async (t) => {
  for (const [, , example] of FIELDS) t.doesNotThrow(() => parses(example.replace('…', '')), example)
})

t.test('metadata is edited as lines', async (t) => {
  const metadata = {
    a: '1',
    'b.c-d': ' x ',
    e: 'two\nlines',
    f: '"quoted"',
    g: '',
    h: 'a: b = c',
    i: 'x\u2028y\u2029z',
  }
  t.strictSame(parseMetadata(metadataText(metadata)), metadata)
  t.strictSame(parseMetadata('a: 1\n\n b=2 '), { a: '1', b: '2' })
  t.match(
    issuesOf(() => parseMetadata('a: 1\nno entry')),
    { metadata: [/Line 2 /] },
  )
  t.match(
    issuesOf(() => parseMetadata('a: "open')),
    { metadata: [/Line 1 /] },
  )
  t.strictSame(metadataPatch({ a: '1', b: '2' }, { b: '3', c: '4' }), { a: null, b: '3', c: '4' })
  t.strictSame(Object.entries(parseMetadata('__proto__: x\nconstructor: y')), [
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ])
  t.strictSame(Object.keys(metadataPatch({}, { constructor: 'y' })), ['constructor'])
})

t.test('who can see a token is grouped by what they see, and by the reason', async (t) => {
  const application = (id: string) => ({ id, name: id, type: 'private' as const })
  const because = {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'reveal' as const,
    permissions: ['token:read'],
  }
  const groups = groupsOf([
    { application: application('a'), permission: 'token:read', disclosure: 'reveal', rule: because },
    { application: application('a'), permission: 'token:search', disclosure: 'reveal', rule: because },
    { application: application('a'), permission: 'token:use', disclosure: 'reveal', rule: null },
    { application: application('b'), permission: 'token:read', disclosure: 'mask' },
    {
      application: application('b'),
      permission: 'token:read',
      disclosure: 'mask',
      through: { type: 'proxy', id: 'p' },
    },
    { application: application('b'), permission: 'token:delete', disclosure: 'redact' },
  ])
  t.strictSame(
    groups.map(({ title, rows }) => [
      title,
      rows.map(({ application, permissions, through }) => [application.id, permissions.join(), through?.id]),
    ]),
    [
      ['See the value', [['a', 'read,search', undefined]]],
      ['Use the value', [['a', 'use', undefined]]],
      [
        'See a mask',
        [
          ['b', 'read', undefined],
          ['b', 'read', 'p'],
        ],
      ],
      ['See no data', [['b', 'delete', undefined]]],
    ],
  )
})

t.test('who can see a token is read from all pages, twenty at most', async (t) => {
  const asked: unknown[] = []
  const api = (pages: number) => ({
    call: async <T>(_method: string, _path: string, { query }: { query?: object } = {}) => {
      asked.push(query)
      return {
        data: [{ permission: 'token:read' }],
        pagination: { total_pages: pages, total_items: pages },
      } as T
    },
  })
  t.match(await loadAccess(api(3), 'an id'), { entries: { length: 3 }, total: 3 })
  t.strictSame(asked[2], { page: 3, size: 100 })
  t.match(await loadAccess(api(50), 'an id'), { entries: { length: 20 }, total: 50 })
})

t.test('an expiry that was not changed stays to the second', async (t) => {
  const stored = '2030-01-31T12:34:56.000+00:00'
  const shown = toLocal(stored)
  t.equal(fromLocal(shown, stored), stored)
  t.equal(fromLocal('', stored), undefined)
  t.equal(fromLocal(shown), '2030-01-31T12:34:00.000Z')
})

t.test('a form becomes a token', async (t) => {
  const of = (values: Readonly<Record<string, string>>) => inputOf((name) => values[name] ?? '')
  const card = { type: 'card', data: '{"number":"42"}', containers: 'pci', metadata: 'a: 1' }
  const body = { type: 'card', data: { number: '42' }, containers: ['/pci/'], metadata: { a: '1' } }
  t.strictSame(of({ ...card, mask: ' {{ data }} ' }), { ...body, mask: '{{ data }}' })
  t.strictSame(of({ ...card, mask: '{"number":"{{ data }}"}' }), { ...body, mask: { number: '{{ data }}' } })
  t.match(
    issuesOf(() => of({ ...card, mask: '{"number":' })),
    { mask: [/JSON/] },
  )
  t.strictSame(of({ type: 'token', data: ' 123 ' }), { type: 'token', data: '123' })
  t.strictSame(of({ type: 'token', data: '"123"' }), { type: 'token', data: '123' })
  t.match(
    issuesOf(() => of({ type: 'token', data: '{"a":' })),
    { data: [/JSON/] },
  )
  t.match(
    issuesOf(() => of({ type: 'token', data: '{"a": 9999999999999999}' })),
    { data: [/cannot be stored exactly/] },
  )
  const schemas = {
    'data.card': { examples: [{ a: 1 }] },
    'data.b': { examples: ['x'] },
    'data.c': {},
    Other: {},
  }
  t.strictSame(typesOf({ components: { schemas } }), [
    { name: 'b', example: 'x' },
    { name: 'c', example: '' },
    { name: 'card', example: '{\n  "a": 1\n}' },
  ])
})

t.test('masked data is shown in one line', async (t) => {
  const shown = (data: unknown) => textOf(maskedData({ data }))
  t.equal(shown({ number: 'XX42', expiration_month: 1, expiration_year: 2030, cvc: null }), 'XX42  1/2030')
  t.equal(shown({ a: 'b', c: { d: 1 } }), 'a: b, c: {"d":1}')
  t.equal(shown([1, 'x']), '[1,"x"]')
  t.ok(Array.from(shown('😀'.repeat(5_000))).length <= 80)
})
