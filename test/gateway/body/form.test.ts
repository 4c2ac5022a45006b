import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { createForm } from '../../../src/gateway/body/form.ts'
import { BODY_LIMITS } from '../../../src/gateway/body/limits.ts'
import { findInSlices, SLICE } from '../../../src/gateway/body/plan.ts'
import { cut, expressions, inParts, plan, resolve, rewritten, VALUES } from './kit.ts'

const TYPE = 'application/x-www-form-urlencoded'
const text = async (body: string) => (await rewritten(body, TYPE)).toString()

const CASES: readonly (readonly [body: string, sent: string])[] = [
  ['a={{pan}}', 'a=4242424242424242'],
  ['a=%7B%7Bpan%7D%7D', 'a=4242424242424242'],
  ['a=%7b{pan}%7D', 'a=4242424242424242'],
  ['a=%7B%7B+pan+%7D%7D&b=c', 'a=4242424242424242&b=c'],
  ['a=x+{{ten}}%20y', 'a=x+10+y'],
  ['a=%7B%7Bcard+%7C+json%3A+%27%24.number%27%7D%7D', 'a=4242424242424242'],
  ['a=%7B%7Bit+%C3%A9%7D%7D', 'a=odd+id'],
  ['a={{card}}', `a=${new URLSearchParams([['', JSON.stringify(VALUES.card)]]).toString().slice(1)}`],
  ['a={{none}}', 'a='],
  ['a={{yes}}', 'a=true'],
  // what is not evaluated keeps its bytes
  ['%61=%62+c&&=&x&{{pan}}=1&n={{ten}}&z=%zz%7B', '%61=%62+c&&=&x&{{pan}}=1&n=10&z=%zz%7B'],
  ['{{pan}}', '{{pan}}'],
  ['a=b=={{ten}}', 'a=b%3D%3D10'],
  ['a={{ten}}&a={{ten}}', 'a=10&a=10'],
  ['a=%{{ten}}', 'a=%2510'],
]

for (const [body, sent] of CASES)
  t.test(`${body} is sent as ${sent}`, async (t) => {
    t.equal(await text(body), sent)
  })

t.test('invalid expressions are rejected', async (t) => {
  for (const body of ['a={{', 'a=%7B%7B', 'a={{}}', 'a={{x&b=}}', 'a={{pan|nope}}'])
    await t.rejects(plan(body, TYPE), { code: 'invalid_expression' }, body)
})

t.test('a field with an expression must be UTF-8, others keep their bytes', async (t) => {
  const sent = await rewritten(Buffer.from('a=%E9&b=\xe9&c={{ten}}', 'latin1'), TYPE)
  t.equal(sent.toString('latin1'), 'a=%E9&b=\xe9&c=10')
  for (const body of ['a=%E9+{{ten}}', 'a=\xe9{{ten}}', 'a={{ten}}%C3', 'a=%7B%7Bten%7D%7D%ED%A0%80'])
    await t.rejects(plan(Buffer.from(body, 'latin1'), TYPE), { code: 'malformed', status: 400 }, body)
})

t.test('any value survives a form parser unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary' }),
      fc.array(fc.tuple(fc.string(), fc.string()), { maxLength: 4 }),
      async (value, others) => {
        const before = others.filter(([, other]) => !other.includes('{'))
        const fields = [...before, ['card', '<{{tok}}>']]
        const result = await plan(new URLSearchParams(fields as [string, string][]).toString(), TYPE)
        if (result.kind !== 'rewrite') return assert.fail('passed')
        const sent = (await result.apply(() => ({ data: value, token: null }))).toString()
        assert.deepEqual([...new URLSearchParams(sent)], [...before, ['card', `<${value.toWellFormed()}>`]])
        assert.match(sent, /^[\w.*+%&=-]*$/)
      },
    ),
  )
})

t.test('a value that looks like an expression or like more fields stays one field', async (t) => {
  const sent = new URLSearchParams(await text('a={{evil}}&b={{text}}'))
  t.strictSame(
    [...sent],
    [
      ['a', VALUES.evil],
      ['b', VALUES.text],
    ],
  )
})

t.test('ids are decoded before they are looked up', async (t) => {
  const result = await plan('a=%7B%7Bit+%C3%A9%7D%7D', TYPE)
  t.strictSame(result.kind === 'rewrite' && [...result.ids], ['it é'])
  t.equal(result.kind === 'rewrite' && (await result.apply(resolve)).toString(), 'a=odd+id')
})

/** A field of more than a slice. */
const LONG = 40_000
const filler = (unit: string, length = LONG) => unit.repeat(Math.ceil(length / unit.length))
/** What each unit is sent as. */
const UNITS: Readonly<Record<string, string>> = {
  '%41': 'A',
  '+': '+',
  '%20': '+',
  é: '%C3%A9',
  '%c3%a9': '%C3%A9',
  '%f0%9f%92%b3': '%F0%9F%92%B3',
  '%zz%7b%': '%25zz%7B%25',
  'a=': 'a%3D',
}

for (const [unit, sent] of Object.entries(UNITS))
  t.test(`a long value of ${JSON.stringify(unit)} is sent as a short one is`, async (t) => {
    for (const shift of ['', 'x', 'xx', 'xxx']) {
      const long = filler(unit)
      const into = `${shift}${sent.repeat(long.length / unit.length)}`
      t.equal(await text(`a=${shift}${long}{{ten}}&b={{yes}}`), `a=${into}10&b=true`)
      t.equal(await text(`c&{{=1&a={{ten}}${shift}${long}{{yes}}`), `c&{{=1&a=10${into}true`)
      t.equal(await text(`a=${shift}${long}&${long}&b={{yes}}`), `a=${shift}${long}&${long}&b=true`)
    }
  })

t.test('a long value: expressions trim white space, and errors equal those of a short one', async (t) => {
  const long = filler('%41')
  const into = 'A'.repeat(long.length / 3)
  t.equal(await text(`a=${long}+%20{{-+ten+-}}++${long}`), `a=${into}10${into}`)
  t.equal(await text(`a=${long}%7B%7Bit+%C3%A9%7D%7D`), `a=${into}odd+id`)
  for (const bad of ['{{', '%7B%7B', '{{}}', '{{pan|nope}}'])
    for (const body of [`a=${long}${bad}`, `a=${bad}${long}`, `a=${long}${bad}&b=c`])
      await t.rejects(plan(body, TYPE), { code: 'invalid_expression' }, bad)
  for (const bad of ['%E9', '%C3', '%ED%A0%80'])
    await t.rejects(plan(`a={{ten}}${bad}${long}`, TYPE), { code: 'malformed' }, bad)
})

t.test('a long value gives the same result for every split of the body', (t) => {
  const body = Buffer.from(`a={{ten}}${filler('%c3%a9')}++{{-yes}}${filler('é%f0%9f%92%b3%7b')}&b={{ten}}`)
  const whole = inParts([body], TYPE)
  t.ok(whole.toString().endsWith('%7B&b=10'))
  for (let at = 1; at < 40; at++) t.strictSame(inParts(cut(body, [at * 997, at * 1_999]), TYPE), whole)
  const small = { ...BODY_LIMITS, heldBytes: 50_000 }
  t.throws(() => inParts(cut(body, [25_000, 49_000, 51_000]), TYPE, small), { code: 'too_large' })
  t.end()
})

t.test('a long value is processed over many turns: no scan or replacement uses much of one', async (t) => {
  const most = 16 * SLICE
  for (const unit of ['%41', '+', '%7b%41', 'a&', '%c3%a9'])
    for (const body of [`a={{ten}}${filler(unit, 1_048_576)}`, `a=${filler(unit, 1_048_576)}&b={{ten}}`]) {
      const scanner = createForm('utf8', expressions, { ...BODY_LIMITS, longest: Number.POSITIVE_INFINITY })
      const bytes = Buffer.from(body)
      let [handed, from] = [0, 0]
      const occurrences = await findInSlices(bytes, 100_000, (slice, isLast) => {
        const scanned = scanner.scan(slice, isLast)
        from += scanned.end
        handed += slice.length
        return scanned
      })
      t.equal(from, bytes.length)
      t.ok(handed < 4 * bytes.length, `${unit}: ${handed} of ${bytes.length} bytes were handed to scans`)
      for (const { start, end } of occurrences)
        t.ok(end - start <= most, `${unit}: a replacement of ${end - start} bytes`)
    }
})
