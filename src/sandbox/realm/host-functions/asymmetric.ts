/** Signatures, public-key encryption, and keys. */
import {
  createECDH,
  diffieHellman,
  generateKeyPairSync,
  getCiphers,
  getCurves,
  getHashes,
  privateDecrypt,
  privateEncrypt,
  publicDecrypt,
  publicEncrypt,
  sign,
  verify,
} from 'node:crypto'
import { allBytesOf, bytesOf, integerIn, textOf } from './bytes.ts'
import { described, exported, privateOf, publicOf, secretOf, type WireKey, withOptions } from './keys.ts'
import type { HostFunctions, Wire } from './types.ts'

/** Generating longer keys takes seconds that cannot be interrupted. */
const MAX_NEW_MODULUS = 2048

const RSA = { publicEncrypt, privateDecrypt, privateEncrypt, publicDecrypt }

const isPublic = (operation: keyof typeof RSA) => operation.startsWith('public')

interface PairOptions {
  readonly modulusLength?: number
  readonly publicExponent?: number
  readonly namedCurve?: string
}

const pair = (type: string, { modulusLength, publicExponent, namedCurve }: PairOptions) => {
  const kinds = ['rsa', 'rsa-pss', 'ec', 'ed25519', 'ed448', 'x25519', 'x448']
  if (!kinds.includes(type))
    throw new TypeError(`Keys of type ${String(type).slice(0, 50)} cannot be generated here.`)
  const rsa = type.startsWith('rsa')
  const { publicKey, privateKey } = generateKeyPairSync(
    type as 'rsa',
    {
      ...(rsa ? { modulusLength: integerIn('modulusLength', modulusLength, 512, MAX_NEW_MODULUS) } : {}),
      ...(publicExponent === undefined
        ? {}
        : { publicExponent: integerIn('publicExponent', publicExponent, 3, 65_537) }),
      ...(namedCurve === undefined ? {} : { namedCurve }),
    } as { modulusLength: number },
  )
  return { publicKey: described(publicKey), privateKey: described(privateKey) }
}

const ecdh = (curve: string, privateKey: Wire | null) => {
  const party = createECDH(curve)
  if (privateKey === null) party.generateKeys()
  else party.setPrivateKey(bytesOf(privateKey))
  return party
}

export const asymmetric: HostFunctions = {
  'crypto.sign': (algorithm: string | null, chunks: readonly Wire[], key: WireKey, encoding?: string) =>
    textOf(sign(algorithm, allBytesOf(chunks), withOptions(privateOf(key), key)), encoding),
  'crypto.verify': (algorithm: string | null, chunks: readonly Wire[], key: WireKey, signature: Wire) =>
    verify(algorithm, allBytesOf(chunks), withOptions(publicOf(key), key), bytesOf(signature)),
  'crypto.rsa': (operation: keyof typeof RSA, key: WireKey, data: Wire) => {
    if (!Object.hasOwn(RSA, operation)) throw new TypeError('There is no such operation.')
    const used = isPublic(operation) ? publicOf(key) : privateOf(key)
    return textOf(RSA[operation](withOptions(used, key), bytesOf(data)))
  },
  'crypto.key': (kind: 'secret' | 'public' | 'private', key: WireKey) =>
    described(kind === 'secret' ? secretOf(key) : kind === 'private' ? privateOf(key) : publicOf(key)),
  'crypto.key.export': exported,
  'crypto.keyPair': pair,
  'crypto.diffieHellman': (privateKey: WireKey, publicKey: WireKey) =>
    textOf(diffieHellman({ privateKey: privateOf(privateKey), publicKey: publicOf(publicKey) })),
  'crypto.ecdh.keys': (curve: string, privateKey: Wire | null) => {
    const party = ecdh(curve, privateKey)
    return { privateKey: textOf(party.getPrivateKey()), publicKey: textOf(party.getPublicKey()) }
  },
  'crypto.ecdh.secret': (curve: string, privateKey: Wire, other: Wire) =>
    textOf(ecdh(curve, privateKey).computeSecret(bytesOf(other))),
  'crypto.lists': () => ({ hashes: getHashes(), ciphers: getCiphers(), curves: getCurves() }),
}
