import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { bytesOf } from './bytes.ts'
import type { Wire } from './types.ts'

/** A key from the realm: text or bytes, a JWK, or a key object (PEM or a secret's bytes). */
export interface WireKey {
  readonly object?: 'secret' | 'public' | 'private'
  readonly data?: Wire
  readonly jwk?: Readonly<Record<string, string>>
  readonly format?: 'pem' | 'der' | 'jwk'
  readonly type?: string
  readonly passphrase?: Wire
  readonly padding?: number
  readonly saltLength?: number
  readonly oaepHash?: string
  readonly oaepLabel?: Wire
  readonly dsaEncoding?: 'der' | 'ieee-p1363'
}

const MAX_MODULUS = 8192
const TYPES = ['rsa', 'rsa-pss', 'ec', 'ed25519', 'ed448', 'x25519', 'x448']

const invalid = (sentence: string) =>
  Object.assign(new TypeError(sentence), { code: 'ERR_INVALID_ARG_VALUE' })

/** Bounds the cost of one operation with the key. */
const checked = (key: KeyObject): KeyObject => {
  if (key.type === 'secret') return key
  if (!TYPES.includes(String(key.asymmetricKeyType)))
    throw invalid(`Keys of type ${key.asymmetricKeyType} cannot be used here.`)
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) > MAX_MODULUS)
    throw invalid(`RSA keys have at most ${MAX_MODULUS} bits here.`)
  return key
}

/** The key as argument of Node's functions. */
const argument = ({ data, jwk, format, type, passphrase }: WireKey) => ({
  key: jwk ?? bytesOf(data as Wire),
  ...(jwk ? { format: 'jwk' } : format === undefined ? {} : { format }),
  ...(type === undefined ? {} : { type }),
  ...(passphrase === undefined ? {} : { passphrase: bytesOf(passphrase) }),
})

export const secretOf = (key: WireKey): KeyObject => createSecretKey(bytesOf(key.data as Wire))

export const privateOf = (key: WireKey): KeyObject => checked(createPrivateKey(argument(key) as never))

/** Accepts private keys and certificates too, like Node. */
export const publicOf = (key: WireKey): KeyObject => checked(createPublicKey(argument(key) as never))

const objectOf = (key: WireKey): KeyObject =>
  key.object === 'secret' ? secretOf(key) : key.object === 'private' ? privateOf(key) : publicOf(key)

/** The key with its options for signatures and encryption. */
export const withOptions = (
  key: KeyObject,
  { padding, saltLength, oaepHash, oaepLabel, dsaEncoding }: WireKey,
) => ({
  key,
  ...(padding === undefined ? {} : { padding }),
  ...(saltLength === undefined ? {} : { saltLength }),
  ...(oaepHash === undefined ? {} : { oaepHash }),
  ...(oaepLabel === undefined ? {} : { oaepLabel: bytesOf(oaepLabel) }),
  ...(dsaEncoding === undefined ? {} : { dsaEncoding }),
})

const details = ({ asymmetricKeyDetails: known }: KeyObject) =>
  known && {
    ...known,
    ...(known.publicExponent === undefined ? {} : { publicExponent: String(known.publicExponent) }),
  }

/** Data of a key object in the realm. */
export const described = (key: KeyObject) =>
  key.type === 'secret'
    ? { type: key.type, size: key.symmetricKeySize, data: [key.export().toString('latin1'), 'latin1'] }
    : {
        type: key.type,
        asymmetricKeyType: key.asymmetricKeyType,
        asymmetricKeyDetails: details(key),
        data: [
          key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' }).toString(),
          'utf8',
        ],
      }

interface ExportOptions {
  readonly type?: string
  readonly format?: string
  readonly cipher?: string
  readonly passphrase?: Wire
}

/** Text of PEM, bytes as latin1 of DER and of secrets, or a JWK. */
export const exported = (wire: WireKey, { passphrase, ...options }: ExportOptions = {}) => {
  const result = objectOf(wire).export({
    ...options,
    ...(passphrase === undefined ? {} : { passphrase: bytesOf(passphrase) }),
  } as never) as Buffer | string | object
  return Buffer.isBuffer(result) ? { latin1: result.toString('latin1') } : { value: result }
}
