import fc from 'fast-check'
import t from 'tap'
import { parseJsonBody } from '../../../src/admin/http/body.ts'
import { parseJson } from '../../../src/console/kit/json.ts'
import { parseObject } from '../../../src/console/kit/json-object.ts'

const LOSSY = [
  '9999999999999999',
  '1e400',
  '-1E400',
  '[9007199254740993]',
  '{"a":{"b":12345678901234567891}}',
  '9007199254740993.0',
  '9.007199254740993e15',
  '[1e-400]',
]
const EXACT = [
  '9007199254740992',
  '1e22',
  '6.02214076e23',
  '0.1',
  '0e-400',
  '"9999999999999999"',
  '{"9999999999999999":[1,"1e400"]}',
]

t.test('a number that a double cannot hold is an error; in a string it is none', async (t) => {
  for (const text of LOSSY) t.match(parseJson(text).error, /cannot be stored exactly/, text)
  for (const text of EXACT) t.strictSame(parseJson(text), { value: JSON.parse(text) }, text)
  t.match(parseJson('{').error, /not JSON/)
  t.match(parseObject('{"a": 1e400}').error, /cannot be stored exactly/)
})

t.test('the console rejects the numbers that the API rejects', async (t) => {
  const digits = fc.stringMatching(/^-?[1-9]\d{0,24}(?:\.\d{1,9})?(?:[eE][+-]?\d{1,3})?$/)
  const text = fc
    .tuple(fc.string(), fc.oneof(digits, fc.constantFrom(...LOSSY, ...EXACT)))
    .map(([name, value]) => `{${JSON.stringify(name)}: ${value}, "b":[${value}]}`)
  await fc.assert(
    fc.asyncProperty(text, async (body) => {
      const isRejected = await parseJsonBody(Buffer.from(body)).then(
        () => false,
        () => true,
      )
      if (isRejected !== (parseJson(body).error !== undefined)) throw new Error(body)
    }),
    { numRuns: 300 },
  )
  t.pass()
})
