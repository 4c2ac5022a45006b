import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { AppError } from '../common/errors.ts'
import { lengthPrefixedBehind, pooledRandom } from './bytes.ts'
import type { SealContext, TenantKeys } from './types.ts'

const FORMAT = 1
const SALT = 16
const NONCE = 12
const TAG = 16
const SALT_AT = 5
const NONCE_AT = SALT_AT + SALT
const TEXT_AT = NONCE_AT + NONCE
const SMALLEST = TEXT_AT + TAG
/** Format, version, HMAC-SHA256. */
const MAC_SIZE = SALT_AT + 32

const LABEL_AND_COUNTER = Buffer.concat([Buffer.of(0, 0, 0, 1), Buffer.from('sidevault seal'), Buffer.of(0)])
const BITS = Buffer.of(0, 0, 1, 0)

/** The key of a salt: KDF in counter mode with HMAC-SHA256, one block, the salt as context (NIST SP 800-108r1 §4.1). */
const recordKey = (dataKey: KeyObject, salt: Buffer): KeyObject => {
  const bytes = createHmac('sha256', dataKey).update(LABEL_AND_COUNTER).update(salt).update(BITS).digest()
  // A cipher starts five times faster with a KeyObject than with raw bytes.
  const key = createSecretKey(bytes)
  bytes.fill(0)
  return key
}

/**
 * Cached record keys for each data key; the oldest is evicted first. They are collected with the ring of the data
 * key.
 */
const RETAINED = 100
const retained = new WeakMap<KeyObject, Map<string, KeyObject>>()

const keyOf = (dataKey: KeyObject, salt: Buffer): KeyObject => {
  let keys = retained.get(dataKey)
  if (keys === undefined) {
    keys = new Map()
    retained.set(dataKey, keys)
  }
  const name = salt.toString('latin1')
  let key = keys.get(name)
  if (key === undefined) {
    key = recordKey(dataKey, salt)
    const [oldest] = keys.keys()
    if (keys.size >= RETAINED && oldest !== undefined) keys.delete(oldest)
    keys.set(name, key)
  }
  return key
}

const bindingOf = (head: Buffer, context: SealContext): Buffer =>
  lengthPrefixedBehind(
    head,
    'seal',
    context.tenantId,
    context.tokenId,
    context.type,
    String(context.version),
    context.part,
    ...(context.also ?? []),
  )

/** The error for any value that cannot be opened: it does not disclose which check failed. */
const cannotOpen = (): AppError =>
  new AppError(
    'internal',
    'A stored value could not be opened. Retry; if it persists, ask the operator to check the store and the root key.',
  )

/** The data key version in a sealed value or a MAC. Undefined for other bytes. */
export const versionOf = (bytes: Buffer): number | undefined =>
  (bytes.length >= SMALLEST || bytes.length === MAC_SIZE) && bytes[0] === FORMAT
    ? bytes.readUInt32BE(1)
    : undefined

/** Values sealed with one salt. */
const SEALS_OF_A_SALT = 65_536

/**
 * Seals values under a data key, each bound to its context: format (1), key version (uint32), salt (16), nonce (12),
 * AES-256-GCM ciphertext, tag (16). Salt and record key are renewed after 65,536 seals.
 *
 * Random 96-bit nonces allow 2^32 uses of a key (NIST SP 800-38D §8.3), which a large tenant exceeds. A record key has
 * at most 2^16 uses and is derived from 128 random bits, so salt and nonce would both have to repeat (224 bits) for any
 * number of records.
 */
export const createSealer = (
  dataKey: KeyObject,
  version: number,
  random: (size: number) => Buffer = pooledRandom,
): TenantKeys['seal'] => {
  const head = Buffer.allocUnsafeSlow(NONCE_AT)
  head.writeUInt8(FORMAT, 0)
  head.writeUInt32BE(version, 1)
  const bound = head.subarray(0, SALT_AT)
  const salt = head.subarray(SALT_AT)
  let key: KeyObject
  let left = 0
  return (plaintext, context) => {
    if (left === 0) {
      random(SALT).copy(salt)
      key = keyOf(dataKey, salt)
      left = SEALS_OF_A_SALT
    }
    left--
    const nonce = random(NONCE)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG })
    cipher.setAAD(bindingOf(bound, context))
    const text = cipher.update(plaintext)
    cipher.final()
    const sealed = Buffer.allocUnsafe(TEXT_AT + text.length + TAG)
    sealed.set(head)
    sealed.set(nonce, NONCE_AT)
    sealed.set(text, TEXT_AT)
    sealed.set(cipher.getAuthTag(), TEXT_AT + text.length)
    return sealed
  }
}

/**
 * The plaintext of a sealed value. Throws the same `internal` error on every failure, also when the data key is
 * absent.
 */
export const open = (
  dataKeyOf: (version: number) => KeyObject | undefined,
  sealed: Buffer,
  context: SealContext,
): Buffer => {
  const version = sealed.length < SMALLEST ? undefined : versionOf(sealed)
  const dataKey = version === undefined ? undefined : dataKeyOf(version)
  if (dataKey === undefined) throw cannotOpen()
  const key = keyOf(dataKey, sealed.subarray(SALT_AT, NONCE_AT))
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(NONCE_AT, TEXT_AT), {
    authTagLength: TAG,
  })
  decipher.setAAD(bindingOf(sealed.subarray(0, SALT_AT), context))
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG))
  const plaintext = decipher.update(sealed.subarray(TEXT_AT, sealed.length - TAG))
  try {
    decipher.final()
  } catch {
    plaintext.fill(0)
    throw cannotOpen()
  }
  return plaintext
}

/** The MAC of the parts: format (1), key version (uint32), HMAC-SHA256. `macKey` has no other use. */
export const macOf = (macKey: KeyObject, version: number, parts: readonly string[]): Buffer => {
  const head = Buffer.alloc(SALT_AT)
  head.writeUInt8(FORMAT, 0)
  head.writeUInt32BE(version, 1)
  const digest = createHmac('sha256', macKey)
    .update(lengthPrefixedBehind(head, 'mac', ...parts))
    .digest()
  return Buffer.concat([head, digest])
}
