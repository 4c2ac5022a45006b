import t from 'tap'
import { NeedleSet } from '../../../src/gateway/guard/needles.ts'
import { createScan, scanText } from '../../../src/gateway/guard/scan.ts'

const CARD = '4242424242424242'
const EXPRESSION = "{{ card | json: '$.number' }}"

interface Value {
  readonly value: string
  readonly expression?: string
  readonly isEgressOnly?: boolean
}

const needlesOf = (...values: readonly Value[]): NeedleSet => {
  const set = new NeedleSet()
  for (const { value, expression = EXPRESSION, isEgressOnly = false } of values)
    set.add({ tokenId: 'card', expression, value, isEgressOnly })
  return set
}

type Replaces = 'all' | 'egress_only' | 'none'

/** The body in two pieces, or in pieces of one byte. */
const scanned = (
  set: NeedleSet,
  text: Buffer,
  contentType: string,
  cut?: number,
  replaces: Replaces = 'all',
) => {
  const scan = createScan(set, { contentType, replaces })
  const parts: Buffer[] = []
  if (cut === undefined)
    for (let at = 0; at < text.length; at++) parts.push(Buffer.from(scan.write(text.subarray(at, at + 1))))
  else
    for (const part of [text.subarray(0, cut), text.subarray(cut)]) parts.push(Buffer.from(scan.write(part)))
  parts.push(scan.end())
  return { text: Buffer.concat(parts), findings: scan.findings }
}

/** Mulberry32. */
const randomOf = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Each way in which a destination may write a value. */
const WRITERS: Readonly<Record<string, (value: string) => Buffer>> = {
  raw: (value) => Buffer.from(value),
  json: (value) => Buffer.from(JSON.stringify(value).slice(1, -1)),
  'json in ASCII': (value) =>
    Buffer.from(
      JSON.stringify(value)
        .slice(1, -1)
        .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ),
  xml: (value) =>
    Buffer.from(
      value
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;'),
    ),
  percent: (value) => Buffer.from(encodeURIComponent(value)),
  form: (value) => Buffer.from(new URLSearchParams({ v: value }).toString().slice(2)),
  hex: (value) => Buffer.from(Buffer.from(value).toString('hex')),
  HEX: (value) => Buffer.from(Buffer.from(value).toString('hex').toUpperCase()),
  base64: (value) => Buffer.from(Buffer.from(value).toString('base64')),
  'base64, a byte before': (value) => Buffer.from(Buffer.from(`x${value}yz`).toString('base64')),
  'base64url, two before': (value) => Buffer.from(Buffer.from(`xy${value}z`).toString('base64url')),
  utf16le: (value) => Buffer.from(value, 'utf16le'),
  utf16be: (value) => Buffer.from(value, 'utf16le').swap16(),
}

const VALUES = [
  CARD,
  'Ada "the first" Lovelace',
  'a&b<c>d/e+f g',
  'Größe 42 – ñandú',
  'p@ss\\word\t1',
  '123456',
]

t.test('each form of each value is found in every cut, and nothing of it is left', async (t) => {
  for (const value of VALUES)
    for (const [name, write] of Object.entries(WRITERS)) {
      const set = needlesOf({ value })
      const form = write(value)
      const text = Buffer.concat([Buffer.from('before >'), form, Buffer.from('< behind')])
      for (let cut = 0; cut <= text.length; cut++) {
        const got = scanned(set, text, 'text/plain', cut === 0 ? undefined : cut)
        const latin1 = got.text.toString('latin1')
        if (!got.findings[0] || !latin1.startsWith('before >') || !latin1.endsWith('< behind'))
          t.fail(`${value}, ${name}, cut ${cut}: ${got.text}`)
        if (got.text.includes(form)) t.fail(`${value}, ${name}, cut ${cut}: still there`)
      }
      t.pass(`${value}, ${name}`)
    }
})

t.test('JSON stays JSON, and holds the expression', async (t) => {
  for (const [text, wanted] of [
    [`{"a":"${CARD}"}`, { a: EXPRESSION }],
    [`{"a":${CARD},"b":[${CARD}]}`, { a: EXPRESSION, b: [EXPRESSION] }],
    [`{"a":-${CARD}.5e1}`, { a: `-${EXPRESSION}.5e1` }],
    [`{"a":1${CARD}7,"b":3}`, { a: `1${EXPRESSION}7`, b: 3 }],
    [`{"${CARD}":1}`, { [EXPRESSION]: 1 }],
    [CARD, EXPRESSION],
  ] as const)
    for (let cut = 0; cut <= text.length; cut++) {
      const got = scanned(needlesOf({ value: CARD }), Buffer.from(text), 'application/json', cut || undefined)
      t.strictSame(JSON.parse(got.text.toString()), wanted, `${text}, cut ${cut}`)
    }
})

t.test('expressions are escaped for where they stand', async (t) => {
  const set = needlesOf({ value: 'secret value', expression: `{{ a | append: "<&'" }}` })
  const got = (text: string, type: string) => scanned(set, Buffer.from(text), type, 3).text.toString()
  t.equal(JSON.parse(got('{"a":"secret value"}', 'application/problem+json')).a, `{{ a | append: "<&'" }}`)
  t.equal(
    got('<a>secret value</a>', 'application/soap+xml'),
    '<a>{{ a | append: &quot;&lt;&amp;&#39;&quot; }}</a>',
  )
  t.equal(new URLSearchParams(got('a=secret+value&b=1', 'application/x-www-form-urlencoded')).get('b'), '1')
  t.match(got('a=secret%20value&b=1', 'text/plain'), /^a=%7B%7B%20a/)
  t.match(scanText(set, '/x?secret value', { isUrl: true, replaces: 'all' }).text, /^\/x\?%7B%7B/)
})

t.test('a short value counts as a whole field, and only when no caller may read it', async (t) => {
  const short = needlesOf({ value: '987', expression: '{{ cvc }}', isEgressOnly: true })
  const cases: readonly (readonly [type: string, text: string, wanted: string])[] = [
    [
      'application/json',
      '{"a":"987","b":987,"c":"1987","d":9871,"e":[987]}',
      '{"a":"{{ cvc }}","b":"{{ cvc }}","c":"1987","d":9871,"e":["{{ cvc }}"]}',
    ],
    ['text/xml', '<a>987</a><b>1987</b>', '<a>{{ cvc }}</a><b>1987</b>'],
    ['text/plain', '987', '{{ cvc }}'],
    ['text/plain', 'a 987', 'a 987'],
  ]
  for (const [type, text, wanted] of cases)
    for (let cut = 0; cut <= text.length; cut++)
      t.equal(
        scanned(short, Buffer.from(text), type, cut || undefined).text.toString(),
        wanted,
        `${text}, ${cut}`,
      )
  t.match(
    scanned(short, Buffer.from('a=987&b=19870'), 'application/x-www-form-urlencoded', 4).text.toString(),
    /^a=%7B%7B.*&b=19870$/,
  )
  t.ok(needlesOf({ value: '987' }).isEmpty, 'an ordinary short value')
  t.ok(needlesOf({ value: '12345' }).isEmpty, 'five digits')
  t.notOk(needlesOf({ value: '123456' }).isEmpty)
})

t.test('only an end that may begin a value is held back', async (t) => {
  const scan = createScan(needlesOf({ value: CARD }), { contentType: 'text/plain', replaces: 'all' })
  t.equal(scan.write(Buffer.from('data: x 4242')).toString(), 'data: x ')
  t.equal(scan.write(Buffer.from('!\n\n')).toString(), '4242!\n\n')
  t.equal(scan.end().length, 0)
})

t.test('report leaves all as it is; other values stay beside one that no caller may read', async (t) => {
  const text = Buffer.from(`{"a":${CARD},"b":"IBAN1234567890"}`)
  const set = needlesOf(
    { value: CARD },
    { value: 'IBAN1234567890', expression: '{{ iban }}', isEgressOnly: true },
  )
  const none = scanned(set, text, 'application/json', 9, 'none')
  t.ok(none.text.equals(text))
  t.equal(none.findings[0]?.count, 2)
  const only = scanned(set, text, 'application/json', 9, 'egress_only')
  t.equal(only.text.toString(), `{"a":${CARD},"b":"{{ iban }}"}`)
})

t.test('of values that overlap nothing is left', async (t) => {
  const set = needlesOf(
    { value: 'abcdefgh', expression: '1' },
    { value: 'efghijklmnop', expression: '2' },
    { value: 'abcdefghij', expression: '3' },
  )
  for (const text of ['abcdefghijklmnop', 'xabcdefghx', 'abcdefghijx', 'abcdabcdefgh'])
    for (let cut = 0; cut <= text.length; cut++) {
      const got = scanned(set, Buffer.from(text), 'text/plain', cut || undefined).text.toString()
      t.notMatch(got, /abcdefgh|efghijklmnop|klmnop/, `${text}, cut ${cut}: ${got}`)
    }
})

t.test('random documents: found where a value is, and nowhere else', async (t) => {
  const random = randomOf(34)
  const letters = 'abcdef0123456789 {}[]",:<>&%=+/\\äß\n'
  const words = (length: number) => Array.from({ length }, () => letters[random(letters.length)]).join('')
  for (let round = 0; round < 10_000; round++) {
    const value = `${random(2) ? 'v' : ''}${words(8 + random(12)).replaceAll(/\s/g, '_')}`
    const set = needlesOf({ value, expression: '#' })
    const names = Object.keys(WRITERS)
    const form = (WRITERS[names[random(names.length)] as string] as (value: string) => Buffer)(value)
    const [before, behind] = [Buffer.from(`${words(random(200))}~`), Buffer.from(`~${words(random(200))}`)]
    const clean = Buffer.concat([before, behind])
    const types = [
      'application/json',
      'text/xml',
      'text/html',
      'text/event-stream',
      'application/octet-stream',
    ]
    const without = scanned(set, clean, types[random(types.length)] as string, random(clean.length + 1) || 1)
    if (!without.text.equals(clean)) return t.fail(`round ${round}: a false finding of ${value} in ${clean}`)
    const text = Buffer.concat([before, form, behind])
    const got = scanned(set, text, 'text/plain', random(text.length + 1) || 1)
    const isAround =
      got.text.subarray(0, before.length).equals(before) &&
      got.text.subarray(got.text.length - behind.length).equals(behind)
    if (!isAround || got.findings[0]?.count !== 1) return t.fail(`round ${round}: ${value} in ${text}`)
  }
  t.pass()
})

t.test('the work does not grow with what needles share', async (t) => {
  const set = needlesOf(
    ...Array.from({ length: 900 }, (_, at) => ({ value: `${'0'.repeat(12)}${at}${'0'.repeat(8)}` })),
  )
  t.notOk(set.isExceeded)
  const text = Buffer.alloc(200_000, '0')
  t.ok(scanned(set, text, 'text/plain', 100_000).text.length > 0)
  t.ok(needlesOf(...Array.from({ length: 1_001 }, (_, at) => ({ value: `value number ${at}` }))).isExceeded)
})
