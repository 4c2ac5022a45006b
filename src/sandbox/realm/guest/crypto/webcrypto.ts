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

type AlgorithmIdentifier = string | Algorithm
type Bytes = ArrayBuffer | ArrayBufferView

const unsupported = (what: string) =>
  Object.assign(new Error(`${what} is not supported`), { name: 'NotSupportedError' })
const rejected = (what: string) => Object.assign(new Error(what), { name: 'InvalidAccessError' })

const algorithmOf = (identifier: AlgorithmIdentifier): Algorithm =>
  typeof identifier === 'string' ? { name: identifier } : identifier
const nameOf = (algorithm: AlgorithmIdentifier): string => algorithmOf(algorithm).name.toUpperCase()
const hashOf = (algorithm: AlgorithmIdentifier | undefined): string =>
  nameOf(algorithm ?? 'SHA-256').replace('SHA-', 'sha')

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

const aes = (algorithm: AlgorithmIdentifier, key: KeyObject): string => {
  const mode = nameOf(algorithm).replace('AES-', '').toLowerCase()
  return `aes-${(key.symmetricKeySize ?? 0) * 8}-${mode}`
}

/** Bytes of a tag of AES-GCM. */
const TAG = 16

const isGcm = (algorithm: Algorithm): boolean => {
  if (nameOf(algorithm) !== 'AES-GCM') return false
  if ((algorithm.tagLength ?? 8 * TAG) !== 8 * TAG) throw unsupported('A tagLength other than 128')
  return true
}

const encrypt = (algorithm: Algorithm, key: KeyObject, data: Bytes): Buffer => {
  if (nameOf(algorithm) === 'RSA-OAEP') return publicEncrypt(oaep(algorithm, key), data)
  const gcm = isGcm(algorithm)
  const cipher = createCipheriv(aes(algorithm, key), key, algorithm.iv ?? algorithm.counter)
  if (algorithm.additionalData) cipher.setAAD(algorithm.additionalData)
  const parts = [cipher.update(viewOf(data)) as Buffer, cipher.final() as Buffer]
  return Buffer.concat(gcm ? [...parts, cipher.getAuthTag()] : parts)
}

const decrypt = (algorithm: Algorithm, key: KeyObject, data: Bytes): Buffer => {
  if (nameOf(algorithm) === 'RSA-OAEP') return privateDecrypt(oaep(algorithm, key), data)
  const bytes = viewOf(data)
  const gcm = isGcm(algorithm)
  if (gcm && bytes.length < TAG)
    throw Object.assign(new Error('The data is too small.'), { name: 'OperationError' })
  const cipher = createDecipheriv(aes(algorithm, key), key, algorithm.iv ?? algorithm.counter)
  if (algorithm.additionalData) cipher.setAAD(algorithm.additionalData)
  const sealed = gcm ? bytes.subarray(0, bytes.length - TAG) : bytes
  if (gcm) cipher.setAuthTag(bytes.subarray(bytes.length - TAG))
  return Buffer.concat([cipher.update(sealed) as Buffer, cipher.final() as Buffer])
}

const oaep = (algorithm: Algorithm, key: KeyObject) => ({
  key,
  padding: constants.RSA_PKCS1_OAEP_PADDING,
  oaepHash: hashOf(algorithm.hash),
  ...(algorithm.label === undefined ? {} : { oaepLabel: algorithm.label }),
})

const signing = (algorithm: Algorithm, key: KeyObject) => {
  const name = nameOf(algorithm)
  if (name === 'RSA-PSS')
    return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: algorithm.saltLength }
  return name === 'ECDSA' ? { key, dsaEncoding: 'ieee-p1363' } : { key }
}

const mergedAlgorithm = (algorithm: AlgorithmIdentifier, key: CryptoKey): Algorithm => ({
  ...key.algorithm,
  ...algorithmOf(algorithm),
})

const digestName = (algorithm: Algorithm) =>
  nameOf(algorithm).startsWith('ED') ? null : hashOf(algorithm.hash)

const imported = (format: string, data: unknown): KeyObject => {
  if (format === 'raw') return createSecretKey(viewOf(data))
  if (format === 'spki') return createPublicKey({ key: viewOf(data), format: 'der', type: 'spki' })
  if (format === 'pkcs8') return createPrivateKey({ key: viewOf(data), format: 'der', type: 'pkcs8' })
  const jwk = data as Readonly<Record<string, string>>
  if (format !== 'jwk') throw unsupported(`The format ${format}`)
  if (jwk.kty === 'oct') return createSecretKey(Buffer.from(jwk.k ?? '', 'base64url'))
  return jwk.d ? createPrivateKey({ key: jwk, format: 'jwk' }) : createPublicKey({ key: jwk, format: 'jwk' })
}

const CURVES: Readonly<Record<string, string>> = { 'P-256': 'P-256', 'P-384': 'P-384', 'P-521': 'P-521' }
const HMAC_BITS: Readonly<Record<string, number>> = { sha1: 512, sha256: 512, sha384: 1024, sha512: 1024 }

const generated = (algorithm: Algorithm, extractable: boolean, usages: readonly string[]) => {
  const name = nameOf(algorithm)
  if (name === 'HMAC' || name.startsWith('AES-')) {
    const bits = Number(algorithm.length ?? HMAC_BITS[hashOf(algorithm.hash)] ?? 256)
    return new CryptoKey(createSecretKey(randomBytes(bits / 8)), algorithm, extractable, usages)
  }
  const type = name.startsWith('RSA')
    ? 'rsa'
    : name === 'ECDSA' || name === 'ECDH'
      ? 'ec'
      : name.toLowerCase()
  const curve = typeof algorithm.namedCurve === 'string' ? CURVES[algorithm.namedCurve] : undefined
  const { publicKey, privateKey } = generateKeyPairSync(type, {
    ...(type === 'rsa' ? { modulusLength: algorithm.modulusLength } : {}),
    ...(curve === undefined ? {} : { namedCurve: curve }),
  })
  const only = (...names: readonly string[]) => usages.filter((usage) => names.includes(usage))
  return {
    publicKey: new CryptoKey(publicKey as KeyObject, algorithm, true, only('verify', 'encrypt', 'wrapKey')),
    privateKey: new CryptoKey(
      privateKey as KeyObject,
      algorithm,
      extractable,
      only('sign', 'decrypt', 'unwrapKey', 'deriveKey', 'deriveBits'),
    ),
  }
}

const derived = (algorithm: Algorithm, base: KeyObject, bits: number): ArrayBuffer => {
  const name = nameOf(algorithm)
  if (name === 'HKDF') return hkdfSync(hashOf(algorithm.hash), base, algorithm.salt, algorithm.info, bits / 8)
  if (name !== 'PBKDF2') throw unsupported(`Deriving by ${name}`)
  return arrayBuffer(
    pbkdf2Sync(base.export(), algorithm.salt, Number(algorithm.iterations), bits / 8, hashOf(algorithm.hash)),
  )
}

export const subtle = {
  digest: async (algorithm: AlgorithmIdentifier, data: Bytes) =>
    arrayBuffer(createHash(hashOf(algorithm)).update(viewOf(data)).digest()),
  importKey: async (
    format: string,
    data: unknown,
    algorithm: AlgorithmIdentifier,
    extractable: boolean,
    usages: readonly string[],
  ) => new CryptoKey(imported(format, data), algorithmOf(algorithm), extractable, usages),
  exportKey: async (format: string, key: CryptoKey) => {
    const open = CryptoKey.open(key)
    if (format === 'jwk') return open.export({ format: 'jwk' })
    return arrayBuffer(format === 'raw' ? open.export() : open.export({ format: 'der', type: format }))
  },
  generateKey: async (algorithm: AlgorithmIdentifier, extractable: boolean, usages: readonly string[]) =>
    generated(algorithmOf(algorithm), extractable, usages),
  encrypt: async (algorithm: AlgorithmIdentifier, key: CryptoKey, data: Bytes) =>
    arrayBuffer(encrypt(mergedAlgorithm(algorithm, key), CryptoKey.use(key, 'encrypt'), data)),
  decrypt: async (algorithm: AlgorithmIdentifier, key: CryptoKey, data: Bytes) =>
    arrayBuffer(decrypt(mergedAlgorithm(algorithm, key), CryptoKey.use(key, 'decrypt'), data)),
  sign: async (algorithm: AlgorithmIdentifier, key: CryptoKey, data: Bytes) => {
    const merged = mergedAlgorithm(algorithm, key)
    const used = CryptoKey.use(key, 'sign')
    if (nameOf(algorithm) === 'HMAC')
      return arrayBuffer(createHmac(hashOf(merged.hash), used).update(viewOf(data)).digest())
    return arrayBuffer(sign(digestName(merged), viewOf(data), signing(merged, used)))
  },
  verify: async (algorithm: AlgorithmIdentifier, key: CryptoKey, signature: Bytes, data: Bytes) => {
    const merged = mergedAlgorithm(algorithm, key)
    const used = CryptoKey.use(key, 'verify')
    if (nameOf(algorithm) !== 'HMAC')
      return verify(digestName(merged), viewOf(data), signing(merged, used), viewOf(signature))
    const own = createHmac(hashOf(merged.hash), used).update(viewOf(data)).digest() as Buffer
    const claimed = viewOf(signature)
    return own.length === claimed.length && timingSafeEqual(own, claimed)
  },
  deriveBits: async (algorithm: Algorithm, key: CryptoKey, bits: number) =>
    derived(algorithm, CryptoKey.use(key, 'deriveBits'), bits),
  deriveKey: async (
    algorithm: Algorithm,
    key: CryptoKey,
    derivedAlgorithm: Algorithm,
    extractable: boolean,
    usages: readonly string[],
  ) => {
    const bits = Number(derivedAlgorithm.length ?? HMAC_BITS[hashOf(derivedAlgorithm.hash)] ?? 256)
    const secret = derived(algorithm, CryptoKey.use(key, 'deriveKey'), bits)
    return new CryptoKey(createSecretKey(secret), derivedAlgorithm, extractable, usages)
  },
}

export const webcrypto = {
  subtle,
  CryptoKey,
  getRandomValues: <T extends ArrayBufferView>(target: T): T => randomFillSync(target),
  randomUUID,
}

export const crypto = webcrypto
