import fc from 'fast-check'
import t from 'tap'
import type { Json, TokenType } from '../../src/sdk/index.ts'
import { completeData, openToken, sealToken, splitEphemeral, tokenBinding } from '../../src/vault/seal.ts'
import { createTokenTypes } from '../../src/vault/token-types.ts'
import { openTestVault, START } from './kit.ts'

const typeWith = (ephemeral: NonNullable<TokenType['ephemeral']>) => {
  const type = { name: 'x', title: 'X', data: {}, container: '/a/', ephemeral }
  const compiled = createTokenTypes(() => new Map([['x', type]])).get('x')
  if (!compiled) throw new Error('the type is missing')
  return compiled
}

t.test('ephemeral members are extracted, nested ones too, and restored', async (t) => {
  const type = typeWith([
    { at: '/cvc', seconds: 1 },
    { at: '/auth/codes/1', seconds: 1 },
    { at: '/absent', seconds: 1 },
  ])
  const data = { number: '1', cvc: '123', auth: { codes: ['a', 'b'], kept: true } }
  const split = splitEphemeral(type, data, () => 10)
  t.equal(JSON.stringify(split.data), '{"number":"1","auth":{"codes":["a",null],"kept":true}}')
  t.same([...split.ephemeral.keys()], ['/cvc', '/auth/codes/1'])
  t.same(completeData(split), data)
  t.same(data.cvc, '123', 'the data handed in stays as it was')
})

t.test('an expired member is dropped', async (t) => {
  const split = splitEphemeral(typeWith([{ at: '/cvc', seconds: 1 }]), { cvc: '123' }, () => undefined)
  t.same(completeData(split), {})
})

t.test('a token is restored from its seals, each member until its own expiry', async (t) => {
  const { keys, tenant } = await openTestVault(t)
  const ring = await keys.tenant(tenant)
  const type = typeWith([
    { at: '/short', seconds: 10 },
    { at: '/long', seconds: 20 },
  ])
  const data = { short: 's', long: 'l', rest: 'r' }
  const opened = {
    ...splitEphemeral(type, data, ({ seconds }) => START + seconds * 1000),
    mask: 'M',
    searchIndexes: ['i'],
    fingerprintExpression: 'f',
  }
  const place = {
    ...{ id: 'abc', type: 'x', version: 3, container: '/a/', expires_at: null },
    ...{ metadata: null, fingerprint: null, egress: null, created_by: 'me', created_at: START },
  }
  const seals = sealToken(ring, opened, tokenBinding(tenant, place))
  t.equal(seals.ephemeral_until, START + 20_000, 'removed when the last of them is due')
  const row = {
    ...seals,
    seq: 1,
    tenant_id: tenant,
    ...place,
    modified_by: null,
    modified_at: null,
  }
  const at = (now: number) => completeData(openToken(ring, row, now))
  t.same(at(START + 9_999), data)
  t.same(at(START + 10_000), { long: 'l', rest: 'r' })
  t.same(at(START + 20_000), { rest: 'r' })
  const { data: _data, ephemeral: _ephemeral, ...expressions } = openToken(ring, row, START)
  t.same(expressions, { mask: 'M', searchIndexes: ['i'], fingerprintExpression: 'f' })
  const moved = [
    { ...row, id: 'other' },
    { ...row, type: 'y' },
    { ...row, version: 4 },
    { ...row, container: '/b/' },
    { ...row, expires_at: START },
    { ...row, metadata: { a: 'b' } },
    { ...row, fingerprint: 'f' },
    { ...row, created_by: 'other' },
    { ...row, created_at: START + 1 },
    { ...row, tenant_id: 'other' },
    { ...row, sealed: seals.ephemeral as Buffer },
    { ...row, ephemeral: seals.sealed },
  ]
  for (const wrong of moved) t.throws(() => openToken(ring, wrong, START), { code: 'internal' })
})

t.test('any JSON survives sealing', async (t) => {
  const { keys, tenant } = await openTestVault(t)
  const ring = await keys.tenant(tenant)
  const type = typeWith([{ at: '/cvc', seconds: 1 }])
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: 'small' }), (value) => {
      const split = splitEphemeral(type, value as Json, () => 10)
      return JSON.stringify(sortKeys(completeData(split))) === JSON.stringify(sortKeys(value as Json))
    }),
    { numRuns: 200 },
  )
  const opened = { data: ['\ud800', '\u0000', 1e300], ephemeral: new Map() }
  const seals = sealToken(ring, opened, { tenantId: tenant, tokenId: 'abc', type: 'x', version: 1 })
  t.equal(seals.ephemeral, null)
})

const sortKeys = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sortKeys(member)]),
  )
}
