import t from 'tap'
import { mayHoldData } from '../../../src/console/kit/may-hold-data.ts'
import { readSearch } from '../../../src/console/screens/tokens/reading.ts'
import { parseQuery } from '../../../src/vault/search/parser.ts'
import { HOSTILE } from '../hostile.ts'

const ID = '5f0c2a1b-9d3e-4c55-8a77-0123456789ab'
const KNOWN = { keys: ['name', 'order'], ids: [ID, 'customer-42'] }
const parses = (query: string) => parseQuery(query, (text) => Buffer.from(text))

const inBoth = (text: string) => `data:${text} OR metadata.name:${text} OR metadata.order:${text}`
const BOTH = 'in data or metadata (name, order)'

const READINGS: readonly (readonly [typed: string, query: string, words: string])[] = [
  ['4242', inBoth('4242'), `last four digits ${BOTH}`],
  ['Ada', inBoth('Ada'), `value ${BOTH}`],
  [' " Ada Lovelace " ', inBoth('"Ada Lovelace"'), `value ${BOTH}`],
  ["O'Brien (Jr)", inBoth(`"O'Brien (Jr)"`), `value ${BOTH}`],
  [
    'Ada@example.com',
    'data:Ada@example.com OR data:ada@example.com OR metadata.name:Ada@example.com OR metadata.name:ada@example.com OR metadata.order:Ada@example.com OR metadata.order:ada@example.com',
    `e-mail address ${BOTH}`,
  ],
  [
    '123-45-6789',
    'data:123-45-6789 OR data:123456789 OR metadata.name:123-45-6789 OR metadata.name:123456789 OR metadata.order:123-45-6789 OR metadata.order:123456789',
    `value ${BOTH}`,
  ],
  ['https://a.example/b', inBoth('"https://a.example/b"'), `value ${BOTH}`],
  ['AND', inBoth('AND'), `value ${BOTH}`],
  [`\t“${ID}”\n`, `id:"${ID}"`, 'id of a token'],
  ["'customer-42'", 'id:"customer-42"', 'id of a token'],
  [
    'Ada*',
    'id:Ada* OR data:Ada OR metadata.name:["Ada" TO "Adb"} OR metadata.order:["Ada" TO "Adb"}',
    'ids or metadata (name, order) that begin with it, or data that equals it',
  ],
  ['customer:1003', 'metadata.customer:1003', 'metadata customer'],
  ['customer: Ada Lovelace', 'metadata.customer:"Ada Lovelace"', 'metadata customer'],
  ['customer:"7 b"', 'metadata.customer:"7 b"', 'metadata customer'],
  ['customer:10*', 'metadata.customer:["10" TO "11"}', 'metadata customer'],
  ['customer:', 'metadata.customer:[* TO *]', 'metadata customer'],
  ['order:[1 TO 5] -type:card', 'metadata.order:[1 TO 5] -type:card', 'metadata order'],
  ['customer:1003 OR customer:1004', 'metadata.customer:1003 OR metadata.customer:1004', 'metadata customer'],
  ['Ada type:card', `(${inBoth('Ada')}) type:card`, `value ${BOTH}`],
  ['type:card NOT (customer-42)', 'type:card NOT ((id:"customer-42"))', 'id of a token'],
  ['note: Ada - Grace type:card', 'metadata.note:"Ada - Grace" type:card', 'metadata note'],
  ['data: 4242', 'data:4242', 'data'],
]

t.test('a search is read as people mean it', async (t) => {
  for (const [typed, query, words] of READINGS) {
    const reading = readSearch(typed, KNOWN)
    t.strictSame([reading.query, reading.words], [query, words], typed)
    t.doesNotThrow(() => parses(query), query)
  }
  t.strictSame(readSearch('Ada'), {
    query: 'data:Ada',
    words: 'value in data',
    texts: ['Ada'],
    wider: 'Ada*',
  })
})

t.test('a query of the language stays as it is', async (t) => {
  for (const query of [
    '',
    'type:card',
    'type:card AND (metadata.order:"7 b" OR -id:a*)',
    String.raw`(type:a)OR(type:b) !metadata.x:"a \" b" id:a\ b*`,
    'NOT expires_at:[* TO *] created_at:{2030-01-01 TO "2030-02-01T12:00:00.000Z"]',
    'metadata.order:["a]" TO b} container:/pci/ data:AND',
  ]) {
    t.strictSame(readSearch(` ${query} `, KNOWN), { query, texts: [] }, query)
    if (query !== '') t.doesNotThrow(() => parses(query), query)
  }
  for (const query of ['type:', 'type:card)', 'id:a?'])
    t.strictSame(readSearch(query, KNOWN), { query, texts: [] }, 'the API says what is wrong')
})

t.test('a text without a field becomes a valid query, which stays out of the address', async (t) => {
  const texts = [...HOSTILE, 'a-b:c', '*', '"', '\\', '-', '"a" OR "b"', '\u{10ffff}'].map((text) =>
    text.trim(),
  )
  for (const typed of texts.flatMap((text) => [text, `${text}*`])) {
    const { query, texts } = readSearch(typed, KNOWN)
    if (texts[0] !== typed) continue
    t.doesNotThrow(() => parses(query))
    t.ok(mayHoldData(query))
  }
  for (const text of texts)
    t.doesNotThrow(() => parses(readSearch(`customer:"${text.replace(/["\\]/g, '')}"`, KNOWN).query))
  for (const typed of ['4111 1111 1111 1111', 'customer:4111111111111111'])
    t.ok(mayHoldData(readSearch(typed, { ...KNOWN, ids: ['4111 1111 1111 1111'] }).query), typed)
})

t.test('a query has no more terms and characters than the language allows', async (t) => {
  const keys = Array.from({ length: 200 }, (_, index) => `key.${index}`)
  for (const typed of ['Ada@example.com type:card', `${'x'.repeat(500)}*`])
    t.doesNotThrow(() => parses(readSearch(typed, { keys, ids: [] }).query))
})
