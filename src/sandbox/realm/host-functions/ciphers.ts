/** Ciphers; their states live as long as the context. */
import {
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  type DecipherGCM,
  getCipherInfo,
} from 'node:crypto'
import { bytesOf, textOf } from './bytes.ts'
import type { HostFunctions, Wire } from './types.ts'

/** Limit of states in one context. */
const MAX_CIPHERS = 1_000

type Create = (
  algorithm: string,
  key: Buffer,
  iv: Buffer | null,
  options?: { readonly authTagLength: number },
) => CipherGCM

interface Begin {
  readonly decrypt: boolean
  readonly algorithm: string
  readonly key: Wire
  readonly iv: Wire | null
  readonly authTagLength?: number
}

export const createCiphers = (): HostFunctions => {
  const states = new Map<number, CipherGCM | DecipherGCM>()
  let last = 0

  const state = (id: number) => {
    const known = states.get(id)
    if (known) return known
    throw Object.assign(new Error('Unsupported state'), { code: 'ERR_CRYPTO_INVALID_STATE' })
  }

  return {
    'crypto.cipher': ({ decrypt, algorithm, key, iv, authTagLength }: Begin) => {
      if (states.size >= MAX_CIPHERS)
        throw new RangeError(`One invocation may have ${MAX_CIPHERS} unfinished ciphers.`)
      const create = (decrypt ? createDecipheriv : createCipheriv) as Create
      const options = authTagLength === undefined ? undefined : { authTagLength }
      const cipher = create(algorithm, bytesOf(key), iv === null ? null : bytesOf(iv), options)
      states.set(++last, cipher)
      return last
    },
    'crypto.cipher.update': (id: number, data: Wire) => textOf(state(id).update(bytesOf(data))),
    'crypto.cipher.final': (id: number) => {
      const cipher = state(id)
      states.delete(id)
      const text = textOf(cipher.final())
      const tag = 'getAuthTag' in cipher && tagOf(cipher)
      return { text, tag: tag ? textOf(tag) : null }
    },
    'crypto.cipher.setAAD': (id: number, data: Wire, plaintextLength?: number) =>
      void (state(id) as CipherGCM).setAAD(bytesOf(data), { plaintextLength } as { plaintextLength: number }),
    'crypto.cipher.setAuthTag': (id: number, tag: Wire) =>
      void (state(id) as DecipherGCM).setAuthTag(bytesOf(tag)),
    'crypto.cipher.setAutoPadding': (id: number, on: boolean) => void state(id).setAutoPadding(on),
    'crypto.cipherInfo': (name: string | number) => getCipherInfo(name as string) ?? null,
  }
}

const tagOf = (cipher: CipherGCM): Buffer | undefined => {
  try {
    return cipher.getAuthTag()
  } catch {
    return undefined // a mode without one
  }
}
