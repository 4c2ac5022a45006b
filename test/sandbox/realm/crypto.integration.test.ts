import t from 'tap'
import { runRealm, sameAsNode } from './kit.ts'

sameAsNode(t, 'digests and HMACs', () => {
  const crypto = require('node:crypto')
  const started = crypto.createHash('sha256').update('a')
  const copy = started.copy().update('c')
  return [
    started.update(Buffer.from('b')).digest('hex'),
    copy.digest('base64'),
    crypto.createHash('md5').update('ü', 'utf8').digest('base64url'),
    crypto.createHash('sha1').update('c3bc', 'hex').digest('latin1'),
    crypto
      .createHash('RSA-SHA512')
      .update(new Uint16Array([1, 2]))
      .digest()
      .toString('hex'),
    crypto.createHash('shake256', { outputLength: 8 }).update('x').digest('hex'),
    crypto.createHmac('sha512', 'key').update('ü').digest('base64'),
    crypto.createHmac('sha256', Buffer.from('00ff', 'hex')).update('a').update('b').digest('hex'),
    crypto
      .createHmac('sha256', crypto.createSecretKey(Buffer.from('k')))
      .update('a')
      .digest('hex'),
  ]
})

sameAsNode(t, 'errors have the names and codes of Node', () => {
  const crypto = require('node:crypto')
  const hash = crypto.createHash('sha256')
  hash.digest()
  const attempts: (() => unknown)[] = [
    () => crypto.createHash('nope'),
    () => crypto.createHash('sha256').update(5),
    () => hash.digest(),
    () => crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('ab')),
    () => crypto.createCipheriv('aes-256-cbc', Buffer.alloc(31), Buffer.alloc(16)),
    () => crypto.createCipheriv('aes-256-cbc', Buffer.alloc(32), Buffer.alloc(15)),
    () => crypto.pbkdf2Sync('p', 's', 0, 8, 'sha256'),
  ]
  return attempts.map((attempt) => {
    try {
      return attempt()
    } catch (error) {
      const { name, code } = error as Error & { code?: string }
      return [name, code]
    }
  })
})

sameAsNode(t, 'keys derived from passwords', async () => {
  const crypto = require('node:crypto')
  const { promisify } = require('node:util')
  return [
    crypto.pbkdf2Sync('p', 's', 1000, 32, 'sha256').toString('hex'),
    (await promisify(crypto.pbkdf2)('p', 's', 10, 16, 'sha512')).toString('hex'),
    crypto.scryptSync('p', 's', 16).toString('hex'),
    (await promisify(crypto.scrypt)('p', 's', 16, { N: 1024 })).toString('hex'),
    Buffer.from(crypto.hkdfSync('sha256', 'k', 's', 'i', 10)).toString('hex'),
  ]
})

sameAsNode(t, 'ciphers, in pieces and of every kind of text', () => {
  const crypto = require('node:crypto')
  const key = Buffer.alloc(32, 1)
  const seal = (algorithm: string, iv: Buffer, text: string, encoding: string) => {
    const cipher = crypto.createCipheriv(algorithm, key, iv)
    return (
      cipher.update(text.slice(0, 7), 'utf8', encoding) +
      cipher.update(text.slice(7), 'utf8', encoding) +
      cipher.final(encoding)
    )
  }
  const open = (algorithm: string, iv: Buffer, text: string, encoding: string) => {
    const cipher = crypto.createDecipheriv(algorithm, key, iv)
    return cipher.update(text, encoding, 'utf8') + cipher.final('utf8')
  }
  const iv = Buffer.alloc(16, 2)
  const text = 'hello wörld, hello 😀 again'
  return ['aes-256-cbc', 'aes-256-ctr', 'aes-256-ecb'].flatMap((algorithm) =>
    ['hex', 'base64'].map((encoding) => {
      const nonce = algorithm.endsWith('ecb') ? Buffer.alloc(0) : iv
      const sealed = seal(algorithm, nonce, text, encoding)
      return [sealed, open(algorithm, nonce, sealed, encoding)]
    }),
  )
})

sameAsNode(t, 'AES-GCM with additional data and its tag', () => {
  const crypto = require('node:crypto')
  const key = Buffer.alloc(32, 1)
  const iv = Buffer.alloc(12, 2)
  const cipher = crypto.createCipheriv('aes-256-gcm', key, iv)
  cipher.setAAD(Buffer.from('aad'))
  const sealed = Buffer.concat([cipher.update('secret'), cipher.final()])
  const tag = cipher.getAuthTag()
  const open = (authTag: Buffer) => {
    const decipher = crypto.createDecipheriv('aes-256-gcm', key, iv)
    decipher.setAAD(Buffer.from('aad')).setAuthTag(authTag)
    try {
      return `${decipher.update(sealed)}${decipher.final()}`
    } catch (error) {
      return (error as Error).message
    }
  }
  return [sealed.toString('hex'), tag.toString('hex'), open(tag), open(Buffer.alloc(16))]
})

sameAsNode(t, 'RSA and EC keys sign, verify, encrypt and are exported', () => {
  const crypto = require('node:crypto')
  const rsa = crypto.generateKeyPairSync('rsa', {
    modulusLength: 1024,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const ec = crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signature = crypto.createSign('RSA-SHA256').update('m').sign(rsa.privateKey, 'base64')
  const oaep = { padding: crypto.constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
  const sealed = crypto.publicEncrypt({ key: rsa.publicKey, ...oaep }, Buffer.from('x'))
  const object = crypto.createPrivateKey(rsa.privateKey)
  const short = crypto.sign('sha256', Buffer.from('m'), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' })
  const protectedPem = object.export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'top',
  })
  return [
    crypto.createVerify('RSA-SHA256').update('m').verify(rsa.publicKey, signature, 'base64'),
    crypto.createVerify('RSA-SHA256').update('n').verify(rsa.publicKey, signature, 'base64'),
    crypto.privateDecrypt({ key: rsa.privateKey, ...oaep }, sealed).toString(),
    crypto.publicDecrypt(rsa.publicKey, crypto.privateEncrypt(rsa.privateKey, Buffer.from('y'))).toString(),
    object.type,
    object.asymmetricKeyType,
    String(object.asymmetricKeyDetails.publicExponent),
    crypto.createPublicKey(object).export({ type: 'spki', format: 'pem' }) === rsa.publicKey,
    crypto
      .createPrivateKey({ key: protectedPem, passphrase: 'top' })
      .export({ type: 'pkcs8', format: 'pem' }) === rsa.privateKey,
    Object.keys(ec.publicKey.export({ format: 'jwk' })),
    crypto
      .createPublicKey({ key: ec.publicKey.export({ format: 'jwk' }), format: 'jwk' })
      .equals(ec.publicKey),
    crypto
      .createPublicKey({
        key: ec.publicKey.export({ format: 'der', type: 'spki' }),
        format: 'der',
        type: 'spki',
      })
      .equals(ec.publicKey),
    short.length,
    crypto.verify('sha256', Buffer.from('m'), { key: ec.publicKey, dsaEncoding: 'ieee-p1363' }, short),
    crypto.verify('sha256', Buffer.from('m'), ec.publicKey, short),
  ]
})

sameAsNode(t, 'two parties agree on a key', () => {
  const crypto = require('node:crypto')
  const [a, b] = [crypto.createECDH('prime256v1'), crypto.createECDH('prime256v1')]
  a.setPrivateKey('01'.repeat(32), 'hex')
  b.setPrivateKey(Buffer.alloc(32, 2))
  const [x, y] = [crypto.generateKeyPairSync('x25519'), crypto.generateKeyPairSync('x25519')]
  const shared = (mine: { privateKey: unknown }, other: { publicKey: unknown }) =>
    crypto.diffieHellman({ privateKey: mine.privateKey, publicKey: other.publicKey }).toString('hex')
  return [
    a.getPublicKey('hex'),
    a.computeSecret(b.getPublicKey(), null, 'hex'),
    shared(x, y) === shared(y, x),
  ]
})

sameAsNode(t, 'random bytes, numbers and ids', async () => {
  const crypto = require('node:crypto')
  const { promisify } = require('node:util')
  return [
    crypto.randomBytes(8).length,
    (await promisify(crypto.randomBytes)(4)).length,
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),
    crypto.randomInt(1),
    crypto.randomInt(7, 8),
    crypto.randomFillSync(Buffer.alloc(70_000)).length,
    crypto.randomBytes(16).equals(crypto.randomBytes(16)),
  ]
})

sameAsNode(t, 'webcrypto', async () => {
  const { subtle } = require('node:crypto').webcrypto
  const hex = (bytes: ArrayBuffer) => Buffer.from(bytes).toString('hex')
  const bytes = (text: string) => new TextEncoder().encode(text)
  const mac = await subtle.importKey('raw', bytes('secret'), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
    'verify',
  ])
  const signature = await subtle.sign('HMAC', mac, bytes('m'))
  const aes = await subtle.importKey('raw', new Uint8Array(32), 'AES-GCM', true, ['encrypt', 'decrypt'])
  const gcm = { name: 'AES-GCM', iv: new Uint8Array(12), additionalData: bytes('a') }
  const sealed = await subtle.encrypt(gcm, aes, bytes('x'))
  const password = await subtle.importKey('raw', bytes('pw'), 'PBKDF2', false, ['deriveBits'])
  const pair = await subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
  const signed = await subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, pair.privateKey, bytes('m'))
  const rejected = await subtle.exportKey('raw', mac).catch((error: Error) => error.name)
  return [
    hex(signature),
    await subtle.verify('HMAC', mac, signature, bytes('m')),
    hex(sealed),
    hex(await subtle.decrypt(gcm, aes, sealed)),
    hex(await subtle.digest('SHA-256', bytes('ab'))),
    hex(
      await subtle.deriveBits(
        { name: 'PBKDF2', salt: new Uint8Array(8), iterations: 10, hash: 'SHA-256' },
        password,
        128,
      ),
    ),
    signed.byteLength,
    await subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, pair.publicKey, signed, bytes('m')),
    hex(await subtle.exportKey('raw', aes)),
    rejected,
    crypto.getRandomValues(new Uint8Array(4)).length,
  ]
})

t.test('calls that could block the CPU are rejected', async (t) => {
  const code = `const crypto = require('node:crypto')
    const zlib = require('zlib')
    const attempts = [
      () => crypto.randomBytes(65_537),
      () => crypto.pbkdf2Sync('p', 's', 1_000_001, 32, 'sha1'),
      () => crypto.pbkdf2Sync('p', 's', 500_000, 65_536, 'sha1'),
      () => crypto.scryptSync('p', 's', 32, { N: 2 ** 20, r: 8, p: 1 }),
      () => crypto.scryptSync('p', 's', 32, { N: 2 ** 14, r: 8, p: 64 }),
      () => crypto.scryptSync('p', 's', 32, { N: NaN, r: 8, p: 1 }),
      () => crypto.generateKeyPairSync('rsa', { modulusLength: 4096 }),
      () => crypto.generateKeyPairSync('dsa', { modulusLength: 2048 }),
      () => zlib.gunzipSync(Buffer.concat([half, half])),
      () => zlib.gunzipSync(half),
    ]
    const half = zlib.gzipSync(Buffer.alloc(6 * 1024 * 1024, 'a'))
    module.exports = () => attempts.map((attempt) => {
      try { return String(attempt().length) } catch (error) { return error.name + ' ' + error.code }
    })`
  const { result } = await runRealm(code)
  t.same(result, [
    ...Array(5).fill('RangeError ERR_OUT_OF_RANGE'),
    'TypeError ERR_INVALID_ARG_TYPE',
    'RangeError ERR_OUT_OF_RANGE',
    'TypeError undefined',
    'RangeError ERR_BUFFER_TOO_LARGE',
    '6291456',
  ])
})

sameAsNode(t, 'webcrypto accepts no short tags and no other signature', async () => {
  const { subtle } = require('node:crypto').webcrypto
  const bytes = (text: string) => new TextEncoder().encode(text)
  const aes = await subtle.importKey('raw', new Uint8Array(32), 'AES-GCM', true, ['encrypt', 'decrypt'])
  const gcm = { name: 'AES-GCM', iv: new Uint8Array(12), tagLength: 128 }
  const sealed: ArrayBuffer = await subtle.encrypt(gcm, aes, new Uint8Array(0))
  const tries: unknown[] = [sealed.byteLength]
  for (const size of [0, 4, 12, 15, 16])
    tries.push(
      await subtle.decrypt(gcm, aes, sealed.slice(0, size)).then(
        (data: ArrayBuffer) => data.byteLength,
        (error: Error) => error.name,
      ),
    )
  const hmac = { name: 'HMAC', hash: 'SHA-256' }
  const mac = await subtle.importKey('raw', bytes('secret'), hmac, false, ['sign', 'verify'])
  const signature: ArrayBuffer = await subtle.sign('HMAC', mac, bytes('m'))
  for (const [candidate, text] of [
    [signature, 'm'],
    [signature, 'n'],
    [signature.slice(0, 31), 'm'],
  ] as const)
    tries.push(await subtle.verify('HMAC', mac, candidate, bytes(text)))
  return tries
})

t.test('webcrypto has tags of 128 bits only', async (t) => {
  const { result } = await runRealm(`module.exports = async () => {
    const { subtle } = require('crypto').webcrypto
    const key = await subtle.importKey('raw', new Uint8Array(32), 'AES-GCM', true, ['encrypt'])
    const gcm = { name: 'AES-GCM', iv: new Uint8Array(12), tagLength: 96 }
    return subtle.encrypt(gcm, key, new Uint8Array(1)).then(() => 'encrypted', (error) => error.name)
  }`)
  t.equal(result, 'NotSupportedError')
})
