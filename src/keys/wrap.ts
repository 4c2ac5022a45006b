import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import type { KeyName, KeyRow } from '../store/keys/types.ts'
import { lengthPrefixed } from './bytes.ts'

const FORMAT = 1
/** Format of keys wrapped for a delegation (`delegated-key.ts`). 2 is that of `kms-root-key.ts`. */
export const DELEGATED_FORMAT = 3
const ROOT_ID = 8
const NONCE = 12
const TAG = 16
/** Bytes of a key. */
export const KEY = 32
const SIZE = 1 + ROOT_ID + NONCE + KEY + TAG

/** Derives the key of one use: HKDF-SHA256 (RFC 5869), no salt, `use` in the info. */
export const subkey = (secret: Buffer, use: string, size = KEY): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), `sidevault ${use}`, size))

/** Wraps and unwraps 256-bit keys under one root key. */
export interface Wrapper {
  /** Id of the root key, as rows name it: 16 hex digits. */
  readonly id: string
  /** A key as a row: format, root key id, nonce, AES-256-GCM ciphertext, tag. `created_at` is that of the key. */
  wrap(name: KeyName, key: Buffer, created_at: number): KeyRow
  /** A fresh random key as a row. */
  fresh(name: KeyName, now: number): KeyRow
  /** The key of a row. Undefined if the row has another root key, or its name or bytes were modified. */
  unwrap(row: KeyRow): Buffer | undefined
}

/** The id of the root key of a row. Undefined if the row has another format. */
export const rootIdOf = ({ wrapped }: Pick<KeyRow, 'wrapped'>): string | undefined =>
  wrapped.length === SIZE && wrapped[0] === FORMAT ? wrapped.toString('hex', 1, 1 + ROOT_ID) : undefined

const bindingOf = (name: KeyName, head: Buffer): Buffer =>
  Buffer.concat([head, lengthPrefixed('wrap', name.tenant_id, name.purpose, String(name.version))])

/**
 * Envelope encryption of keys (docs/security-model.md, "Encryption"). Tenant, purpose and version are associated data,
 * so a row copied to another name cannot be unwrapped. There is one wrap per key, so random nonces stay far below the
 * limit of 2^32 for a key (NIST SP 800-38D §8.3). The root key is only used to derive keys.
 */
export const createWrapper = (rootKey: Buffer, format = FORMAT): Wrapper => {
  const wrapKey: KeyObject = createSecretKey(subkey(rootKey, 'wrap'))
  const rootId = subkey(rootKey, 'root key id', ROOT_ID)
  const head = Buffer.concat([Buffer.of(format), rootId])
  const wrap: Wrapper['wrap'] = ({ tenant_id, purpose, version }, key, created_at) => {
    const name = { tenant_id, purpose, version }
    const nonce = randomBytes(NONCE)
    const cipher = createCipheriv('aes-256-gcm', wrapKey, nonce, { authTagLength: TAG })
    cipher.setAAD(bindingOf(name, head))
    const sealed = cipher.update(key)
    cipher.final()
    return { ...name, wrapped: Buffer.concat([head, nonce, sealed, cipher.getAuthTag()]), created_at }
  }
  return {
    id: rootId.toString('hex'),
    wrap,
    fresh: (name, now) => {
      const key = randomBytes(KEY)
      const row = wrap(name, key, now)
      key.fill(0)
      return row
    },
    unwrap: (row) => {
      const { wrapped } = row
      if (wrapped.length !== SIZE || !wrapped.subarray(0, head.length).equals(head)) return undefined
      const nonce = wrapped.subarray(head.length, head.length + NONCE)
      const decipher = createDecipheriv('aes-256-gcm', wrapKey, nonce, { authTagLength: TAG })
      decipher.setAAD(bindingOf(row, head))
      decipher.setAuthTag(wrapped.subarray(SIZE - TAG))
      try {
        const key = decipher.update(wrapped.subarray(head.length + NONCE, SIZE - TAG))
        decipher.final()
        return key
      } catch {
        return undefined
      }
    },
  }
}
