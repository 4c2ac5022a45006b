import t from 'tap'
import type { TokenType } from '../../src/sdk/index.ts'
import { createTokenTypes } from '../../src/vault/token-types.ts'

const compile = (type: Partial<TokenType>) => {
  const complete = { name: 'x', title: 'X', data: {}, container: '/A/Low/b/', ...type }
  const compiled = createTokenTypes(() => new Map([['x', complete]])).get('x')
  if (!compiled) throw new Error('the type is missing')
  return compiled
}

t.test('an unknown type is undefined', async (t) => {
  t.equal(createTokenTypes(() => new Map()).get('x'), undefined)
})

t.test('schema issues report their place and never the value', async (t) => {
  const type = compile({
    data: {
      type: 'object',
      required: ['number'],
      properties: {
        number: { type: 'string', pattern: '^[0-9]+$' },
        month: { type: 'integer', maximum: 12 },
      },
    },
  })
  t.same(type.accept({ month: 13 }), {
    issues: [
      { at: '/number', message: 'is required' },
      { at: '/month', message: 'must be at most 12' },
    ],
  })
  t.notMatch(JSON.stringify(type.accept({ number: 'marked-value' })), /marked-value/)
})

t.test('members of Object.prototype do not satisfy a schema', async (t) => {
  const type = compile({ data: { type: 'object', required: ['constructor', '__proto__'] } })
  t.hasOwnProp(type.accept({}), 'issues')
})

t.test('data is normalized after the schema and before the checks', async (t) => {
  const seen: unknown[] = []
  const type = compile({
    data: { type: 'string' },
    normalize: (data) => String(data).replaceAll('-', ''),
    check: (data) => {
      seen.push(data)
      return data === '123' ? [] : [{ at: '', message: 'must be 123' }]
    },
  })
  t.same(type.accept('1-2-3'), { data: '123' })
  t.same(type.accept(5), { issues: [{ at: '', message: 'must be a string' }] })
  t.same(seen, ['123'])
})

t.test('a schema issue is one message for each place, without the value', async (t) => {
  const type = compile({
    data: {
      type: 'object',
      properties: {
        month: { type: ['integer', 'null'] },
        cvc: { anyOf: [{ type: 'string', pattern: '^[0-9]{3}$' }, { type: 'integer' }] },
      },
      required: ['a/b'],
    },
  })
  t.same(type.accept({ month: 'secret', cvc: true }), {
    issues: [
      { at: '/a~1b', message: 'is required' },
      { at: '/month', message: 'must be an integer or null' },
      { at: '/cvc', message: 'must be a string or an integer' },
    ],
  })
})

t.test('named checks read their pointers and skip absent members', async (t) => {
  const type = compile({ checks: [{ check: 'luhn', at: '/a/number' }] })
  t.same(type.accept({}), { data: {} })
  t.same(type.accept({ a: { number: '4242424242424242' } }), { data: { a: { number: '4242424242424242' } } })
  t.same(type.accept({ a: { number: '4242424242424241' } }), {
    issues: [{ at: '/a/number', message: 'must pass the Luhn check' }],
  })
  t.hasOwnProp(type.accept({ a: { number: [] } }), 'issues')
})

t.test('privacy follows from container and mask', async (t) => {
  t.same(compile({}).privacy, { classification: 'a', impact_level: 'low', restriction_policy: 'redact' })
  t.equal(compile({ mask: 'X' }).privacy.restriction_policy, 'mask')
})

t.test('defaults are filled in', async (t) => {
  const type = compile({})
  t.equal(type.container, '/a/low/b/')
  t.equal(type.fingerprint, '{{ data | stringify }}')
})
