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

t.test('unchanged content is written as it was read', async (t) => {
  const json = 'application/json'
  for (const value of [{ a: [1, 'é', null] }, [], 'text', 5, false] satisfies Json[]) {
    const text = JSON.stringify(value)
    t.equal((await writeBody(json, await readBody('json', Buffer.from(text)), false))?.toString(), text)
  }
  const form = 'application/x-www-form-urlencoded'
  for (const text of ['a=1&b=x+y&a2=', 'a=1&a=2&b=%C3%A9', '__proto__=1&constructor=2'])
    t.equal((await writeBody(form, await readBody('form', Buffer.from(text)), false))?.toString(), text)
  t.same(await readBody('json', Buffer.from('\ufeff{"a":1}')), { a: 1 })
})

t.test('a body that does not match its type is rejected, without quoting it', async (t) => {
  for (const text of ['{', 'secret', '{"a":1}x', `${'['.repeat(65)}${']'.repeat(65)}`]) {
    const error = await readBody('json', Buffer.from(text)).catch((thrown) => thrown)
    t.match(error, { code: 'malformed' }, text)
    t.notMatch(String(error), /secret/)
  }
})

t.test('an empty body is an empty object, and stays empty unless code sets a member', async (t) => {
  t.same(await readBody('json', Buffer.alloc(0)), {})
  t.same(await readBody('form', Buffer.alloc(0)), {})
  t.equal((await writeBody('application/json', {}, true))?.length, 0)
  t.equal((await writeBody('application/json', {}, false))?.toString(), '{}')
  t.equal((await writeBody('application/json', null, false))?.length, 0)
  t.equal((await writeBody(undefined, {}, true))?.length, 0)
  t.equal((await writeBody('application/json', [], true))?.toString(), '[]')
})

t.test('a result that its content type cannot represent is an error', async (t) => {
  const form = 'application/x-www-form-urlencoded'
  t.equal(await writeBody(form, { a: { b: 1 } }, false), undefined)
  t.equal(await writeBody(form, { a: [[1]] }, false), undefined)
  t.equal(await writeBody('text/plain', { a: 1 }, false), undefined)
  t.equal(await writeBody(undefined, { a: 1 }, false), undefined)
  t.equal(await writeBody('application/json, text/plain', {}, false), undefined)
  t.equal((await writeBody('text/xml', '<a/>', false))?.toString(), '<a/>')
  t.equal((await writeBody(form, 'a=b', false))?.toString(), 'a=b')
  t.equal((await writeBody(form, { a: null, b: true, c: [1, null] }, false))?.toString(), 'a=&b=true&c=1&c=')
})

t.test('JSON in a single-byte charset is read, and written in the same charset', async (t) => {
  const type = 'application/json; charset="ISO-8859-1"'
  const plain = asUtf8(type, Buffer.from('{"a":"é"}', 'latin1'))
  t.same(await readBody('json', plain), { a: 'é' })
  t.equal((await writeBody(type, { a: 'é😀' }, false))?.toString(), '{"a":"\\u00e9\\ud83d\\ude00"}')
  for (const other of [
    'application/json',
    'application/json; charset=utf-8',
    'application/json; charset=iso-8859-99',
  ])
    t.equal(asUtf8(other, plain), plain, other)
})

t.test('a body with more values or names than allowed for code is rejected before it is built', async (t) => {
  const names = Array.from({ length: 20_001 }, (_, index) => `k${index}`)
  for (const text of [
    `[${'[],'.repeat(300_000)}1]`,
    `[${'1,'.repeat(1_000_000)}1]`,
    JSON.stringify(Object.fromEntries(names.map((name) => [name, 1]))),
  ])
    await t.rejects(readBody('json', Buffer.from(text)), { code: 'too_large' }, text.slice(0, 10))
  await readBody('json', Buffer.from(JSON.stringify('[],'.repeat(400_000))))
  for (const text of ['a=1&'.repeat(200_001), names.join('=&')])
    await t.rejects(readBody('form', Buffer.from(text)), { code: 'too_large' }, text.slice(0, 10))
})

t.test('long texts written in slices equal those written at once', async (t) => {
  const type = 'application/json; charset=latin1'
  const form = 'application/x-www-form-urlencoded'
  for (const before of ['', 'x'])
    for (const text of [before + '😀'.repeat(70_000), `${before}${'é% +'.repeat(40_000)}\ud83d`]) {
      const body = { a: text, b: [text, 1] }
      const json = (await writeBody(type, body, false))?.toString() ?? ''
      t.notMatch(json, /[^ -~]/)
      t.same(JSON.parse(json), body)
      const expected = new URLSearchParams([
        ['a', text],
        ['b', text],
        ['b', '1'],
      ])
      t.equal((await writeBody(form, body, false))?.toString(), expected.toString())
      const read = await readBody('form', Buffer.from(expected.toString()))
      t.same(read, { a: text.toWellFormed(), b: [text.toWellFormed(), '1'] })
    }
})
