import t from 'tap'
import type { Json } from '../../../src/common/json.ts'
import { asUtf8, readBody, shapeOf, writeBody } from '../../../src/gateway/transform/content.ts'

t.test('transforms apply to JSON and forms only', async (t) => {
  for (const type of [
    'application/json',
    'Application/JSON; charset=utf-8',
    'application/problem+json',
    'text/json',
  ])
    t.equal(shapeOf(type), 'json', type)
  t.equal(shapeOf('application/x-www-form-urlencoded; charset=utf-8'), 'form')
  for (const type of [undefined, '', 'text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'x'])
    t.equal(shapeOf(type), undefined, String(type))
  t.throws(() => shapeOf('application/json, text/plain'), { code: 'malformed' })
})

t.test('what was read is written again as the same', async (t) => {
  const json = 'application/json'
  for (const value of [{ a: [1, 'é', null] }, [], 'text', 5, false] satisfies Json[]) {
    const text = JSON.stringify(value)
    t.equal(writeBody(json, readBody('json', Buffer.from(text)), false)?.toString(), text)
  }
  const form = 'application/x-www-form-urlencoded'
  for (const text of ['a=1&b=x+y&a2=', 'a=1&a=2&b=%C3%A9', '__proto__=1&constructor=2'])
    t.equal(writeBody(form, readBody('form', Buffer.from(text)), false)?.toString(), text)
  t.same(readBody('json', Buffer.from('\ufeff{"a":1}')), { a: 1 })
})

t.test('a body that is not what it says is refused, with nothing of it in the text', async (t) => {
  for (const text of ['{', 'secret', '{"a":1}x', `${'['.repeat(65)}${']'.repeat(65)}`]) {
    t.throws(() => readBody('json', Buffer.from(text)), { code: 'malformed' }, text)
    try {
      readBody('json', Buffer.from(text))
    } catch (error) {
      t.notMatch(String(error), /secret/)
    }
  }
})

t.test('an empty body is an empty object, and stays empty while nothing is put in', async (t) => {
  t.same(readBody('json', Buffer.alloc(0)), {})
  t.same(readBody('form', Buffer.alloc(0)), {})
  t.equal(writeBody('application/json', {}, true)?.length, 0)
  t.equal(writeBody('application/json', {}, false)?.toString(), '{}')
  t.equal(writeBody('application/json', null, false)?.length, 0)
  t.equal(writeBody(undefined, {}, true)?.length, 0)
  t.equal(writeBody('application/json', [], true)?.toString(), '[]')
})

t.test('a body that its content type cannot hold is told', async (t) => {
  const form = 'application/x-www-form-urlencoded'
  t.equal(writeBody(form, { a: { b: 1 } }, false), undefined)
  t.equal(writeBody(form, { a: [[1]] }, false), undefined)
  t.equal(writeBody('text/plain', { a: 1 }, false), undefined)
  t.equal(writeBody(undefined, { a: 1 }, false), undefined)
  t.equal(writeBody('application/json, text/plain', {}, false), undefined)
  t.equal(writeBody('text/xml', '<a/>', false)?.toString(), '<a/>')
  t.equal(writeBody(form, 'a=b', false)?.toString(), 'a=b')
  t.equal(writeBody(form, { a: null, b: true, c: [1, null] }, false)?.toString(), 'a=&b=true&c=1&c=')
})

t.test(
  'JSON in a charset of single bytes is read, and written so that it reads the same in it',
  async (t) => {
    const type = 'application/json; charset="ISO-8859-1"'
    const plain = asUtf8(type, Buffer.from('{"a":"é"}', 'latin1'))
    t.same(readBody('json', plain), { a: 'é' })
    t.equal(writeBody(type, { a: 'é😀' }, false)?.toString(), '{"a":"\\u00e9\\ud83d\\ude00"}')
    for (const other of [
      'application/json',
      'application/json; charset=utf-8',
      'application/json; charset=iso-8859-99',
    ])
      t.equal(asUtf8(other, plain), plain, other)
  },
)
