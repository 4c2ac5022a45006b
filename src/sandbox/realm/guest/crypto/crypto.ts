/** `crypto`: the common part of Node 16's module, computed by the host. */
import { callSync } from '../bridge.ts'
import {
  createECDH,
  diffieHellman,
  ECDH,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
} from './agreement.ts'
import { createCipheriv, createDecipheriv, getCipherInfo } from './ciphers.ts'
import {
  hkdfSync,
  pbkdf2Sync,
  randomBytes,
  randomFillSync,
  randomInt,
  randomUUID,
  scryptSync,
  timingSafeEqual,
  withCallback,
} from './derive.ts'
import {
  createHash,
  createHmac,
  createSign,
  createVerify,
  Hash,
  Hmac,
  Sign,
  sign,
  Verify,
  verify,
} from './digests.ts'
import { createPrivateKey, createPublicKey, createSecretKey, generateKeyPairSync, KeyObject } from './keys.ts'
import { subtle, webcrypto } from './webcrypto.ts'

const constants: typeof import('node:crypto').constants = require('node:constants')

interface Lists {
  readonly hashes: string[]
  readonly ciphers: string[]
  readonly curves: string[]
}

const lists = (): Lists => callSync('crypto.lists')

type PairCallback = (error: Error | null, publicKey?: unknown, privateKey?: unknown) => void

const generateKeyPair = (type: string, options: object, callback: PairCallback): void =>
  withCallback(generateKeyPairSync)(
    type,
    options,
    (error: Error | null, pair?: { publicKey: unknown; privateKey: unknown }) =>
      error ? callback(error) : callback(null, pair?.publicKey, pair?.privateKey),
  )

Object.defineProperty(generateKeyPair, Symbol.for('nodejs.util.promisify.custom'), {
  value: async (...args: Parameters<typeof generateKeyPairSync>) => generateKeyPairSync(...args),
})

const generateKeySync = (_type: string, { length }: { readonly length: number }): KeyObject =>
  createSecretKey(randomBytes(Math.floor(length / 8)))

export const builtin = {
  constants,
  createCipheriv,
  createDecipheriv,
  createECDH,
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  createSign,
  createVerify,
  diffieHellman,
  ECDH,
  generateKey: withCallback(generateKeySync),
  generateKeyPair,
  generateKeyPairSync,
  generateKeySync,
  getCipherInfo,
  getCiphers: () => lists().ciphers,
  getCurves: () => lists().curves,
  getFips: () => 0,
  getHashes: () => lists().hashes,
  getRandomValues: webcrypto.getRandomValues,
  Hash,
  hkdf: withCallback(hkdfSync),
  hkdfSync,
  Hmac,
  KeyObject,
  pbkdf2: withCallback(pbkdf2Sync),
  pbkdf2Sync,
  privateDecrypt,
  privateEncrypt,
  pseudoRandomBytes: randomBytes,
  publicDecrypt,
  publicEncrypt,
  randomBytes,
  randomFill: withCallback(randomFillSync),
  randomFillSync,
  randomInt,
  randomUUID,
  rng: randomBytes,
  scrypt: withCallback(scryptSync),
  scryptSync,
  Sign,
  sign,
  subtle,
  timingSafeEqual,
  Verify,
  verify,
  webcrypto,
}
