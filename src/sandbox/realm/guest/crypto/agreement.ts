/** Key agreement (Diffie-Hellman, ECDH) and RSA encryption. */
import type { Buffer } from 'node:buffer'
import { callSync } from '../bridge.ts'
import { fromLatin1, inEncoding, toWire, type Wire } from '../bytes.ts'
import { keyWire } from './keys.ts'

const rsa =
  (operation: string) =>
  (key: unknown, data: unknown): Buffer =>
    fromLatin1(callSync('crypto.rsa', operation, keyWire(key), toWire(data)))

export const publicEncrypt = rsa('publicEncrypt')
export const privateDecrypt = rsa('privateDecrypt')
export const privateEncrypt = rsa('privateEncrypt')
export const publicDecrypt = rsa('publicDecrypt')

export const diffieHellman = ({
  privateKey,
  publicKey,
}: {
  readonly privateKey: unknown
  readonly publicKey: unknown
}): Buffer => fromLatin1(callSync('crypto.diffieHellman', keyWire(privateKey), keyWire(publicKey)))

interface Keys {
  readonly privateKey: string
  readonly publicKey: string
}

export class ECDH {
  readonly #curve: string
  #keys: Keys | undefined

  constructor(curve: string) {
    this.#curve = curve
  }

  #own(): Keys {
    if (this.#keys) return this.#keys
    throw Object.assign(new Error('Failed to get ECDH keys'), { code: 'ERR_CRYPTO_ECDH_NO_KEYS' })
  }

  generateKeys(encoding?: string): Buffer | string {
    this.#keys = callSync<Keys>('crypto.ecdh.keys', this.#curve, null)
    return this.getPublicKey(encoding)
  }

  setPrivateKey(key: unknown, encoding?: string): void {
    this.#keys = callSync<Keys>('crypto.ecdh.keys', this.#curve, toWire(key, encoding))
  }

  getPublicKey(encoding?: string): Buffer | string {
    return inEncoding(fromLatin1(this.#own().publicKey), encoding)
  }

  getPrivateKey(encoding?: string): Buffer | string {
    return inEncoding(fromLatin1(this.#own().privateKey), encoding)
  }

  computeSecret(other: unknown, inputEncoding?: string, outputEncoding?: string): Buffer | string {
    const own: Wire = [this.#own().privateKey, 'latin1']
    const secret = fromLatin1(callSync('crypto.ecdh.secret', this.#curve, own, toWire(other, inputEncoding)))
    return inEncoding(secret, outputEncoding)
  }
}

export const createECDH = (curve: string): ECDH => new ECDH(curve)
