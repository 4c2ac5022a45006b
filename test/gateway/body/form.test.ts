import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { plan, resolve, rewritten, VALUES } from './kit.ts'

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

t.test('faulty expressions are refused', async (t) => {
  for (const body of ['a={{', 'a=%7B%7B', 'a={{}}', 'a={{x&b=}}', 'a={{pan|nope}}'])
    await t.rejects(plan(body, TYPE), { code: 'invalid_expression' }, body)
})

t.test('a field with an expression has to be UTF-8, others keep their bytes', async (t) => {
  const sent = await rewritten(Buffer.from('a=%E9&b=\xe9&c={{ten}}', 'latin1'), TYPE)
  t.equal(sent.toString('latin1'), 'a=%E9&b=\xe9&c=10')
  for (const body of ['a=%E9+{{ten}}', 'a=\xe9{{ten}}', 'a={{ten}}%C3', 'a=%7B%7Bten%7D%7D%ED%A0%80'])
    await t.rejects(plan(Buffer.from(body, 'latin1'), TYPE), { code: 'malformed', status: 400 }, body)
})

t.test('any value arrives at a form parser as it is', async () => {
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
