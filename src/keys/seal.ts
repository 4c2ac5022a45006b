import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import { AppError } from '../common/errors.ts'
import { lengthPrefixed, pooledRandom } from './bytes.ts'
import type { SealContext, TenantKeys } from './types.ts'

const FORMAT = 1
const SALT = 16
const NONCE = 12
const TAG = 16
const SALT_AT = 5
const NONCE_AT = SALT_AT + SALT
const TEXT_AT = NONCE_AT + NONCE
const SMALLEST = TEXT_AT + TAG

const LABEL_AND_COUNTER = Buffer.concat([Buffer.of(0, 0, 0, 1), Buffer.from('sidevault seal'), Buffer.of(0)])
const BITS = Buffer.of(0, 0, 1, 0)

/** The key of a salt: KDF in counter mode with HMAC-SHA256, one block, the salt as context (NIST SP 800-108r1 §4.1). */
const recordKey = (dataKey: KeyObject, salt: Buffer): KeyObject => {
  const bytes = createHmac('sha256', dataKey).update(LABEL_AND_COUNTER).update(salt).update(BITS).digest()
  // A KeyObject also makes the cipher start five times faster than raw bytes do.
  const key = createSecretKey(bytes)
  bytes.fill(0)
  return key
}

/** The last one of each data key: values that one call sealed are often opened together. */
const lastKeys = new WeakMap<KeyObject, { readonly salt: Buffer; readonly key: KeyObject }>()

const openingKey = (dataKey: KeyObject, salt: Buffer): KeyObject => {
  const last = lastKeys.get(dataKey)
  if (last?.salt.equals(salt)) return last.key
  const key = recordKey(dataKey, salt)
  lastKeys.set(dataKey, { salt: Buffer.from(salt), key })
  return key
}

const bindingOf = (head: Buffer, context: SealContext): Buffer =>
  Buffer.concat([
    head,
    lengthPrefixed(
      'seal',
      context.tenantId,
      context.tokenId,
      context.type,
      String(context.version),
      context.part,
      ...(context.also ?? []),
    ),
  ])

/** The one error of every value that does not open: which check failed is nobody's business. */
const cannotOpen = (): AppError =>
  new AppError(
    'internal',
    'A stored value could not be opened. Retry; if it persists, ask the operator to check the store and the root key.',
  )

/** The data key version a sealed value names, or undefined when it is not in the format. */
export const versionOf = (sealed: Buffer): number | undefined =>
  sealed.length >= SMALLEST && sealed[0] === FORMAT ? sealed.readUInt32BE(1) : undefined

/**
 * AES-256-GCM bound to each `context`: format (1), key version (uint32), salt (16), nonce (12), ciphertext, tag (16). What
 * one sealer seals has one key, so it serves one call (some ten thousand seals), not more.
 *
 * Random 96-bit nonces allow 2^32 uses of a key (NIST SP 800-38D §8.3), which a large tenant exceeds. Here each sealer
 * has a key of its own, derived from 128 random bits, so salt and nonce would both have to repeat (224 bits) and no
 * count of records matters.
 */
export const sealer = (
  dataKey: KeyObject,
  version: number,
  random: (size: number) => Buffer = pooledRandom,
): Pick<TenantKeys, 'seal'> => {
  const head = Buffer.allocUnsafe(NONCE_AT)
  head.writeUInt8(FORMAT, 0)
  head.writeUInt32BE(version, 1)
  const salt = random(SALT)
  salt.copy(head, SALT_AT)
  const key = recordKey(dataKey, salt)
  const bound = head.subarray(0, SALT_AT)
  const seal = (plaintext: Buffer, context: SealContext): Buffer => {
    const nonce = random(NONCE)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG })
    cipher.setAAD(bindingOf(bound, context))
    const text = cipher.update(plaintext)
    cipher.final()
    return Buffer.concat([head, nonce, text, cipher.getAuthTag()])
  }
  return { seal }
}

/** The plaintext of a sealed value. Every failure is the same `internal` error, an absent data key included. */
export const open = (
  dataKeyOf: (version: number) => KeyObject | undefined,
  sealed: Buffer,
  context: SealContext,
): Buffer => {
  const version = versionOf(sealed)
  const dataKey = version === undefined ? undefined : dataKeyOf(version)
  if (dataKey === undefined) throw cannotOpen()
  const key = openingKey(dataKey, sealed.subarray(SALT_AT, NONCE_AT))
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
