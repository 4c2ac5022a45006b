/** The authority in the store: versions of its key, each with its certificate (completions §15). */
import { createECDH, X509Certificate } from 'node:crypto'
import type { Clock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { FORWARD_CA_CERTIFICATE as CERTIFICATE } from '../keys/root-key-rows.ts'
import type { Keys, ServiceKey } from '../keys/types.ts'
import type { KeyRow, KeyStore } from '../store/keys/types.ts'
import { authorityCertificate, keyFromScalar, newKey, pemOf, type SigningAuthority } from './certificates.ts'

/**
 * The rows of one version have this purpose and that of a certificate, whose `created_at` is when it starts to sign.
 */
const KEY = 'forward-ca'

const DAY_MS = 86_400_000
/** A new version starts to sign when clients had time to trust it. */
const NOTICE_MS = 7 * DAY_MS
/** Certificates of hosts end within it. */
const LEAF_MS = DAY_MS

const SCALAR = 32

export interface AuthorityVersion extends SigningAuthority {
  readonly version: number
  /** ms since the epoch. */
  readonly createdAt: number
  readonly signsFrom: number
  /** True when it replaced the former authority at once (`rotate --now`), which may not sign any more. */
  readonly atOnce: boolean
}

export interface StoredAuthorityDeps {
  readonly keys: Pick<Keys, 'serviceKeys' | 'wrapServiceKey'>
  readonly store: Pick<KeyStore, 'keys' | 'add' | 'remove'>
  readonly clock: Clock
}

/** Undefined for a certificate that this key did not sign: somebody replaced it in the store. */
const versionOf = ({ version, key, createdAt }: ServiceKey, row: KeyRow): AuthorityVersion | undefined => {
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(key.reveal())
  const privateKey = keyFromScalar(key.reveal(), curve.getPublicKey())
  const certificate = new X509Certificate(row.wrapped)
  if (!certificate.checkPrivateKey(privateKey) || !certificate.verify(certificate.publicKey)) return undefined
  const signsFrom = row.created_at
  const atOnce = signsFrom < createdAt + NOTICE_MS
  return { version, chain: pemOf(row.wrapped), key: privateKey, createdAt, signsFrom, atOnce }
}

const altered = () =>
  new AppError(
    'internal',
    "The certificate of the forward proxy's authority was altered in the store. Restore the store from a backup.",
  )

/** All versions with a certificate, oldest first; none before the first use. Rejects when one was altered. */
const storedVersions = async ({ keys, store }: StoredAuthorityDeps): Promise<readonly AuthorityVersion[]> => {
  const secrets = await keys.serviceKeys(KEY)
  if (secrets.length === 0) return []
  const rows = (await store.keys('')).filter(({ purpose }) => purpose === CERTIFICATE)
  return secrets.flatMap((secret) => {
    const row = rows.find(({ version }) => version === secret.version)
    // A version without a certificate is one whose rotation was interrupted.
    if (row === undefined) return []
    const version = versionOf(secret, row)
    if (version === undefined) throw altered()
    return [version]
  })
}

const scalarOf = (key: ReturnType<typeof newKey>): Buffer => {
  const { d = '' } = key.export({ format: 'jwk' })
  return Buffer.concat([Buffer.alloc(SCALAR), Buffer.from(d, 'base64url')]).subarray(-SCALAR)
}

/** Adds a version; false when another process was first. */
const addVersion = async (
  { keys, store }: Omit<StoredAuthorityDeps, 'clock'>,
  { version, now, signsFrom }: { readonly version: number; readonly now: number; readonly signsFrom: number },
): Promise<boolean> => {
  const key = newKey()
  const scalar = scalarOf(key)
  const wrapped = await keys.wrapServiceKey({ purpose: KEY, version }, scalar, now)
  scalar.fill(0)
  const certificate = await authorityCertificate(key, now)
  const row = { tenant_id: '', purpose: CERTIFICATE, version, wrapped: certificate, created_at: signsFrom }
  return store.add([wrapped, row])
}

/** The versions, after the first one was made if there was none. Concurrent first uses make one. */
export const ensureVersions = async (deps: StoredAuthorityDeps): Promise<readonly AuthorityVersion[]> => {
  const versions = await storedVersions(deps)
  if (versions.length > 0) return versions
  const now = deps.clock.now()
  await addVersion(deps, { version: 1, now, signsFrom: now })
  return storedVersions(deps)
}

/** The version that signs now: the newest one whose time has come. */
export const signingVersion = (
  versions: readonly AuthorityVersion[],
  now: number,
): AuthorityVersion | undefined => versions.findLast(({ signsFrom }) => signsFrom <= now) ?? versions[0]

/**
 * Versions that clients should trust: the signing one, newer ones, and those whose certificates of hosts may still be
 * valid.
 */
export const trustedVersions = (
  versions: readonly AuthorityVersion[],
  now: number,
): readonly AuthorityVersion[] =>
  versions.filter((_, at) => {
    const next = versions[at + 1]
    return next === undefined || now < next.signsFrom + LEAF_MS
  })

/**
 * Adds a version, which signs after seven days; with `atOnce` now (`signsFrom`: ms since the epoch). A version that
 * waits starts now with `atOnce`. Removes versions that clients need not trust any more. Rejects with `conflict` when
 * one waits already.
 */
export const rotateAuthority = async (
  deps: StoredAuthorityDeps,
  atOnce: boolean,
): Promise<{ readonly signsFrom: number }> => {
  const { store, clock } = deps
  const now = clock.now()
  const versions = await ensureVersions(deps)
  const newest = versions.at(-1)
  const signsFrom = atOnce ? now : now + NOTICE_MS
  if (newest !== undefined && newest.signsFrom > now) {
    if (!atOnce)
      throw new AppError(
        'conflict',
        `A new certificate signs from ${new Date(newest.signsFrom).toISOString()} on. To use it at once, run: sidevault ca rotate --now`,
      )
    await restart(deps, newest.version, now)
    return { signsFrom: now }
  }
  const rows = (await store.keys('')).filter(({ purpose }) => purpose === KEY || purpose === CERTIFICATE)
  const last = Math.max(0, ...rows.map(({ version }) => version))
  if (!(await addVersion(deps, { version: last + 1, now, signsFrom })))
    throw new AppError('conflict', 'The authority was rotated concurrently. See: sidevault ca print')
  const trusted = trustedVersions(await storedVersions(deps), now).map(({ version }) => version)
  const over = rows.filter(({ version }) => version <= last && !trusted.includes(version))
  if (over.length > 0) await store.remove(over)
  return { signsFrom }
}

/** Lets the version sign from `now` on. Between both writes the version before it signs. */
const restart = async ({ store }: StoredAuthorityDeps, version: number, now: number): Promise<void> => {
  const row = (await store.keys('')).find((row) => row.purpose === CERTIFICATE && row.version === version)
  if (row === undefined) return
  await store.remove([row])
  await store.add([{ ...row, created_at: now }])
}
