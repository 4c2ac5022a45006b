/** `crypto.webcrypto`: digests, HMAC, AES, RSA, ECDSA and key derivation, based on Node's functions. */
import { Buffer } from 'node:buffer'
import { viewOf } from '../bytes.ts'
import { privateDecrypt, publicEncrypt } from './agreement.ts'
import { createCipheriv, createDecipheriv } from './ciphers.ts'
import { hkdfSync, pbkdf2Sync, randomBytes, randomFillSync, randomUUID, timingSafeEqual } from './derive.ts'
import { createHash, createHmac, sign, verify } from './digests.ts'
import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
} from './keys.ts'

const constants: typeof import('node:crypto').constants = require('node:constants')

interface Algorithm extends Readonly<Record<string, unknown>> {
  readonly name: string
  readonly hash?: string | { readonly name: string }
}

type Given = string | Algorithm
type Bytes = ArrayBuffer | ArrayBufferView

const unsupported = (what: string) =>
  Object.assign(new Error(`${what} is not supported`), { name: 'NotSupportedError' })
const rejected = (what: string) => Object.assign(new Error(what), { name: 'InvalidAccessError' })

const algorithmOf = (given: Given): Algorithm => (typeof given === 'string' ? { name: given } : given)
const nameOf = (given: Given): string => algorithmOf(given).name.toUpperCase()
const hashOf = (given: Given | undefined): string => nameOf(given ?? 'SHA-256').replace('SHA-', 'sha')

const arrayBuffer = (bytes: unknown): ArrayBuffer => new Uint8Array(viewOf(bytes)).buffer

export class CryptoKey {
  readonly type: 'secret' | 'public' | 'private'
  readonly extractable: boolean
  readonly algorithm: Algorithm
  readonly usages: readonly string[]
  readonly #key: KeyObject

  constructor(key: KeyObject, algorithm: Algorithm, extractable: boolean, usages: readonly string[]) {
    this.type = key.type
    this.#key = key
    this.algorithm = algorithm
    this.extractable = extractable
    this.usages = usages
  }

  static use(key: CryptoKey, usage: string): KeyObject {
    if (!key.usages.includes(usage)) throw rejected(`The key may not be used to ${usage}.`)
    return key.#key
  }

  static open(key: CryptoKey): KeyObject {
    if (!key.extractable) throw rejected('The key is not extractable.')
    return key.#key
  }
}

const aes = (given: Given, key: KeyObject): string => {
  const mode = nameOf(given).replace('AES-', '').toLowerCase()
  return `aes-${(key.symmetricKeySize ?? 0) * 8}-${mode}`
}

/** Bytes of a tag of AES-GCM. */
const TAG = 16

const isGcm = (given: Algorithm): boolean => {
  if (nameOf(given) !== 'AES-GCM') return false
  if ((given.tagLength ?? 8 * TAG) !== 8 * TAG) throw unsupported('A tagLength other than 128')
  return true
}

const encrypt = (given: Algorithm, key: KeyObject, data: Bytes): Buffer => {
  if (nameOf(given) === 'RSA-OAEP') return publicEncrypt(oaep(given, key), data)
  const gcm = isGcm(given)
  const cipher = createCipheriv(aes(given, key), key, given.iv ?? given.counter)
  if (given.additionalData) cipher.setAAD(given.additionalData)
  const parts = [cipher.update(viewOf(data)) as Buffer, cipher.final() as Buffer]
  return Buffer.concat(gcm ? [...parts, cipher.getAuthTag()] : parts)
}

const decrypt = (given: Algorithm, key: KeyObject, data: Bytes): Buffer => {
  if (nameOf(given) === 'RSA-OAEP') return privateDecrypt(oaep(given, key), data)
  const bytes = viewOf(data)
  const gcm = isGcm(given)
  if (gcm && bytes.length < TAG)
    throw Object.assign(new Error('The data is too small.'), { name: 'OperationError' })
  const cipher = createDecipheriv(aes(given, key), key, given.iv ?? given.counter)
  if (given.additionalData) cipher.setAAD(given.additionalData)
  const sealed = gcm ? bytes.subarray(0, bytes.length - TAG) : bytes
  if (gcm) cipher.setAuthTag(bytes.subarray(bytes.length - TAG))
  return Buffer.concat([cipher.update(sealed) as Buffer, cipher.final() as Buffer])
}

const oaep = (given: Algorithm, key: KeyObject) => ({
  key,
  padding: constants.RSA_PKCS1_OAEP_PADDING,
  oaepHash: hashOf(given.hash),
  ...(given.label === undefined ? {} : { oaepLabel: given.label }),
})

const signing = (given: Algorithm, key: KeyObject) => {
  const name = nameOf(given)
  if (name === 'RSA-PSS')
    return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: given.saltLength }
  return name === 'ECDSA' ? { key, dsaEncoding: 'ieee-p1363' } : { key }
}

const merged = (given: Given, key: CryptoKey): Algorithm => ({ ...key.algorithm, ...algorithmOf(given) })

const digestName = (given: Algorithm) => (nameOf(given).startsWith('ED') ? null : hashOf(given.hash))

const imported = (format: string, data: unknown, type: Algorithm): KeyObject => {
  if (format === 'raw') return createSecretKey(viewOf(data))
  if (format === 'spki') return createPublicKey({ key: viewOf(data), format: 'der', type: 'spki' })
  if (format === 'pkcs8') return createPrivateKey({ key: viewOf(data), format: 'der', type: 'pkcs8' })
  const jwk = data as Readonly<Record<string, string>>
  if (format !== 'jwk') throw unsupported(`The format ${format}`)
  if (jwk.kty === 'oct') return createSecretKey(Buffer.from(jwk.k ?? '', 'base64url'))
  return type && jwk.d
    ? createPrivateKey({ key: jwk, format: 'jwk' })
    : createPublicKey({ key: jwk, format: 'jwk' })
}

const CURVES: Readonly<Record<string, string>> = { 'P-256': 'P-256', 'P-384': 'P-384', 'P-521': 'P-521' }
const HMAC_BITS: Readonly<Record<string, number>> = { sha1: 512, sha256: 512, sha384: 1024, sha512: 1024 }

const generated = (given: Algorithm, extractable: boolean, usages: readonly string[]) => {
  const name = nameOf(given)
  if (name === 'HMAC' || name.startsWith('AES-')) {
    const bits = Number(given.length ?? HMAC_BITS[hashOf(given.hash)] ?? 256)
    return new CryptoKey(createSecretKey(randomBytes(bits / 8)), given, extractable, usages)
  }
  const type = name.startsWith('RSA')
    ? 'rsa'
    : name === 'ECDSA' || name === 'ECDH'
      ? 'ec'
      : name.toLowerCase()
  const curve = typeof given.namedCurve === 'string' ? CURVES[given.namedCurve] : undefined
  const { publicKey, privateKey } = generateKeyPairSync(type, {
    ...(type === 'rsa' ? { modulusLength: given.modulusLength } : {}),
    ...(curve === undefined ? {} : { namedCurve: curve }),
  })
  const only = (...names: readonly string[]) => usages.filter((usage) => names.includes(usage))
  return {
    publicKey: new CryptoKey(publicKey as KeyObject, given, true, only('verify', 'encrypt', 'wrapKey')),
    privateKey: new CryptoKey(
      privateKey as KeyObject,
      given,
      extractable,
      only('sign', 'decrypt', 'unwrapKey', 'deriveKey', 'deriveBits'),
    ),
  }
}

const derived = (given: Algorithm, base: KeyObject, bits: number): ArrayBuffer => {
  const name = nameOf(given)
  if (name === 'HKDF') return hkdfSync(hashOf(given.hash), base, given.salt, given.info, bits / 8)
  if (name !== 'PBKDF2') throw unsupported(`Deriving by ${name}`)
  return arrayBuffer(
    pbkdf2Sync(base.export(), given.salt, Number(given.iterations), bits / 8, hashOf(given.hash)),
  )
}

export const subtle = {
  digest: async (given: Given, data: Bytes) =>
    arrayBuffer(createHash(hashOf(given)).update(viewOf(data)).digest()),
  importKey: async (
    format: string,
    data: unknown,
    given: Given,
    extractable: boolean,
    usages: readonly string[],
  ) => new CryptoKey(imported(format, data, algorithmOf(given)), algorithmOf(given), extractable, usages),
  exportKey: async (format: string, key: CryptoKey) => {
    const open = CryptoKey.open(key)
    if (format === 'jwk') return open.export({ format: 'jwk' })
    return arrayBuffer(format === 'raw' ? open.export() : open.export({ format: 'der', type: format }))
  },
  generateKey: async (given: Given, extractable: boolean, usages: readonly string[]) =>
    generated(algorithmOf(given), extractable, usages),
  encrypt: async (given: Given, key: CryptoKey, data: Bytes) =>
    arrayBuffer(encrypt(merged(given, key), CryptoKey.use(key, 'encrypt'), data)),
  decrypt: async (given: Given, key: CryptoKey, data: Bytes) =>
    arrayBuffer(decrypt(merged(given, key), CryptoKey.use(key, 'decrypt'), data)),
  sign: async (given: Given, key: CryptoKey, data: Bytes) => {
    const algorithm = merged(given, key)
    const used = CryptoKey.use(key, 'sign')
    if (nameOf(given) === 'HMAC')
      return arrayBuffer(createHmac(hashOf(algorithm.hash), used).update(viewOf(data)).digest())
    return arrayBuffer(sign(digestName(algorithm), viewOf(data), signing(algorithm, used)))
  },
  verify: async (given: Given, key: CryptoKey, signature: Bytes, data: Bytes) => {
    const algorithm = merged(given, key)
    const used = CryptoKey.use(key, 'verify')
    if (nameOf(given) !== 'HMAC')
      return verify(digestName(algorithm), viewOf(data), signing(algorithm, used), viewOf(signature))
    const own = createHmac(hashOf(algorithm.hash), used).update(viewOf(data)).digest() as Buffer
    const claimed = viewOf(signature)
    return own.length === claimed.length && timingSafeEqual(own, claimed)
  },
  deriveBits: async (given: Algorithm, key: CryptoKey, bits: number) =>
    derived(given, CryptoKey.use(key, 'deriveBits'), bits),
  deriveKey: async (
    given: Algorithm,
    key: CryptoKey,
    of: Algorithm,
    extractable: boolean,
    usages: readonly string[],
  ) => {
    const bits = Number(of.length ?? HMAC_BITS[hashOf(of.hash)] ?? 256)
    const secret = derived(given, CryptoKey.use(key, 'deriveKey'), bits)
    return new CryptoKey(createSecretKey(secret), of, extractable, usages)
  },
}

export const webcrypto = {
  subtle,
  CryptoKey,
  getRandomValues: <T extends ArrayBufferView>(target: T): T => randomFillSync(target),
  randomUUID,
}

export const crypto = webcrypto
