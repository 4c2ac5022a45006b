import { createECDH, createHmac, generateKeyPairSync, sign } from 'node:crypto'
import type { Json } from '../../../src/common/json.ts'

/** A program of `programs/`, and what it is called with; the destination's address is added to each configuration. */
export interface Case {
  readonly program: string
  readonly argument: { readonly [name: string]: Json }
  /** Whether it is given `bt`. */
  readonly sdk?: boolean
}

const rsa = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const keys = { PUBLIC_KEY: rsa.publicKey, PRIVATE_KEY: rsa.privateKey }
const encoded = (value: Json) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claims = `${encoded({ alg: 'ES256' })}.${encoded({ sub: 'me' })}`
const es256 = sign('sha256', Buffer.from(claims), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' })
const merchantKey = '0102'.repeat(16)
const walletKey = '0a0b'.repeat(16)
const pan = '4242424242424242'
const ed25519 = generateKeyPairSync('ed25519', {
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const event = { id: 'evt_1', note: 'é' }
const signed = createHmac('sha256', 'whsec')
  .update(`1700000000.${JSON.stringify(event)}`)
  .digest('hex')

const publicPoint = (privateKey: string): string => {
  const party = createECDH('prime256v1')
  party.setPrivateKey(privateKey, 'hex')
  return party.getPublicKey('base64')
}

const transform = (program: string, body: Json, more: Record<string, Json> = {}): Case => {
  const { configuration = {}, headers = {}, ...rest } = more
  return {
    program,
    argument: {
      args: { body, headers, method: 'POST', path: '/pay', query: '?a=1&b=2', ...rest },
      configuration,
    },
  }
}

export const CASES: readonly Case[] = [
  transform(
    'object-edit',
    { card: { number: pan, cvc: '123' }, internal_note: 'x', tags: ['a'] },
    { headers: { A: 'b' } },
  ),
  transform('mask-card', {
    cards: [{ number: pan }, { number: '378282246310005', note: null }],
    deep: { number: pan },
  }),
  transform('flatten', { a: { b: [1, { c: null }], d: '' }, e: false }),
  transform('totals', {
    currency: 'USD',
    items: [
      { kind: 'b', price: 1.15 },
      { kind: 'a', price: 1234.56, quantity: 2 },
      { kind: 'b', price: 0.1 },
    ],
  }),
  transform(
    'basic-auth',
    { a: 1 },
    { headers: { 'x-internal': '1' }, configuration: { USER: 'üser', PASSWORD: 'p:w' } },
  ),
  transform(
    'hmac-signature',
    { amount: 10, name: 'Zoë' },
    { headers: { 'x-date': 'today', 'x-login': 'me' }, configuration: { SECRET: 's€cret' } },
  ),
  transform(
    'hmac-canonical',
    { amount: '1:0', account: 'a\\b', empty: '' },
    { configuration: { HMAC_KEY: '00ff10' } },
  ),
  transform('aws-style-signature', { a: 'é' }, { configuration: { SECRET: 'key' } }),
  transform('digest-headers', { text: 'naïve 😀' }),
  transform(
    'aes-cbc',
    { card: { number: pan } },
    { configuration: { PASSWORD: 'pw', IV: '000102030405060708090a0b0c0d0e0f' } },
  ),
  transform('aes-gcm', { id: 'order-1', text: 'sécret' }),
  transform('rsa-encrypt', { number: pan }, { configuration: keys }),
  transform('rsa-jws', { sub: 'a', exp: 2_000_000_000 }, { configuration: keys }),
  transform('jwt-hs256', { sub: '1234567890', name: 'Jöhn' }),
  transform(
    'jwt-es256',
    { token: `${claims}.${es256.toString('base64url')}` },
    { configuration: { JWK: JSON.stringify(ec.publicKey.export({ format: 'jwk' })) } },
  ),
  transform(
    'jwt-es256',
    { token: `${claims}.${Buffer.alloc(64, 1).toString('base64url')}` },
    { configuration: { JWK: JSON.stringify(ec.publicKey.export({ format: 'jwk' })) } },
  ),
  transform(
    'wallet-decrypt',
    { text: pan, ephemeralKey: publicPoint(walletKey) },
    { configuration: { MERCHANT_KEY: merchantKey, WALLET_KEY: walletKey } },
  ),
  transform('pbkdf2', { password: 'pässword' }),
  transform('soap', {
    Card: { Number: pan, Holder: `A & B <"'>` },
    Item: [{ Id: 1 }, { Id: 2 }],
    Empty: null,
  }),
  transform('xml-read', { xml: '<r xmlns:a="u"><a:Code>0&amp;1</a:Code>\n<Text lang="x"> hi </Text></r>' }),
  transform('form-encode', { a: 1, b: true, c: "it's (ok)" }),
  transform(
    'stripe-form',
    { number: pan, expiration_month: 12, expiration_year: 2030, cvc: '123', name: 'A [b]' },
    { configuration: { KEY: 'sk' } },
  ),
  transform(
    'adyen-payment',
    {
      amount: { currency: 'EUR', value: '10.10' },
      card: { number: pan, expiration_month: 3, expiration_year: 2030 },
      reference: 'r 1',
      returnUrl: 'https://Shop.test/back?x=1#top',
    },
    { configuration: { API_KEY: 'k' } },
  ),
  transform('search-params', {}, { query: '?id=1&id=2&token=x&z=%20+', path: 'pay' }),
  transform('url-legacy', { url: 'http://user:pw@host.test:8080/dir/file.json?a=1&a=2#h' }),
  transform(
    'oauth-then-call',
    { customer: 'c/1' },
    { configuration: { CLIENT_ID: 'id', CLIENT_SECRET: 's e&c' } },
  ),
  transform(
    'oauth-then-call',
    { customer: 'c/1' },
    { configuration: { CLIENT_ID: 'id', CLIENT_SECRET: 'wrong' } },
  ),
  transform('fetch-retry', { name: 'x' }),
  transform('fetch-parallel', { ids: [1, 404, 3] }),
  transform('http-post', { number: pan, name: 'ü' }),
  transform('fetch-errors', { card: pan }),
  { ...transform('tokenize-response', { id: 7, card: { pan, exp: '04/31' } }), sdk: true },
  { program: 'token-lifecycle', argument: { args: { value: { a: [1, null] } } }, sdk: true },
  {
    program: 'detokenize-formula',
    argument: { args: { token: 'known' }, configuration: { OTHER: 'reactor' } },
    sdk: true,
  },
  { program: 'sdk-error-mapping', argument: { args: { token: 'forbidden' } }, sdk: true },
  { program: 'sdk-error-mapping', argument: { args: { token: 'unknown' } }, sdk: true },
  transform('typed-errors', { amount: 5 }),
  transform('typed-errors', {}),
  transform('typed-errors', { amount: 500 }),
  transform('typed-errors', { amount: 5000 }),
  transform('plain-error', { items: [{ price: { amount: 1 } }, {}] }),
  transform('uuid', {}),
  transform('uuid-v5', { name: 'example.com' }),
  transform('gzip-body', { list: Array(50).fill('same words') }),
  transform('form-data', { note: 'one\ntwo\r\nü', text: 'file ü' }),
  transform('blob', { text: 'näive' }),
  transform('zlib-streams', { text: 'same words '.repeat(30) }),
  transform('dates', { at: '2030-03-09T23:30:15.250-05:00' }),
  transform('card-brand', {
    numbers: [pan, '5555555555554444', '2223003122003222', '378282246310005', '6011111111111118'],
  }),
  transform('csv', {
    rows: [
      { a: 1, b: 'x,y' },
      { b: 'say "hi"', c: 'z' },
    ],
  }),
  transform('iso8583', { pan, amount: 1050 }),
  transform('pin-block', { pin: '1234', pan, key: '0123456789abcdeffedcba98765432100123456789abcdef' }),
  transform('event-pipeline', { z: 0 }),
  transform('streams', { text: 'one\ntwo\n\nthrée' }),
  transform('generators', { pages: 4 }),
  transform('module-state', { name: 'x' }),
  transform('timers', {}),
  transform('deep-merge', {
    target: { a: { b: 1, c: [1] }, d: 2 },
    patch: { a: { b: null, e: { f: 1 } }, d: [3] },
  }),
  transform('crc32', { text: 'héllo' }),
  transform('stable-json', { b: [1, { d: 1, c: 2 }], a: null }),
  transform('base64-files', { file: 'data:image/png;base64, iVBORw0KGgo=' }),
  transform('regexes', { phone: '0151 / 23-45', text: 'Zoë paid with 4242 4242 4242 4242 in Köln' }),
  transform('webcrypto', { password: 'pw', text: pan }),
  transform('promisified', {}),
  transform(
    'oauth1',
    { status: "Hello Ladies + Gentlemen, a signed OAuth request! (ü*')" },
    { configuration: { SECRET: 's&c' } },
  ),
  transform('jwe', { number: pan, name: 'Zoë' }, { configuration: keys }),
  transform('http-signature', { amount: 1 }, { configuration: { ED25519: ed25519.privateKey } }),
  transform('totp', {
    secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
    times: [59, 1_111_111_109, 20_000_000_000],
  }),
  transform('iban', {
    ibans: ['DE89 3704 0044 0532 0130 00', 'GB82WEST12345698765432', 'DE00370400440532013000'],
    cents: [1, 123_456, 0],
  }),
  transform('multipart-body', { fields: { a: 'ü', 'b"c': 'one\r\ntwo' }, file: 'AP8NCg0K' }),
  transform('locales', { at: '2030-11-03T06:30:00Z', amount: 1234.5, names: ['z', 'ä', 'a', 'Ö'] }),
  transform('webhook-verify', event, {
    headers: { 'x-signature': `t=1700000000,v1=${signed}` },
    configuration: { SECRET: 'whsec' },
  }),
  transform('webhook-verify', event, {
    headers: { 'x-signature': `t=1700000001,v1=${signed}` },
    configuration: { SECRET: 'whsec' },
  }),
  transform('es-module', { text: 'a b' }),
  transform('callback-style', { id: 5 }),
  transform('callback-style', {}),
]
