/** Delegated keys: their text, names and rows (ADR 0148). */

import { Secret } from '../common/secret.ts'
import { readSecretFile } from '../common/secret-file.ts'
import type { Delegation } from '../sdk/delegations.ts'
import type { KeyName, KeyRow } from '../store/keys/types.ts'
import { RootKeySourceError } from './root-key.ts'
import { createWrapper, DELEGATED_FORMAT, type Wrapper } from './wrap.ts'

const TEXT = /^svdk1\.([a-z][a-z0-9-]{0,19})\.([A-Za-z0-9_-]{43})\.(\S{1,200})$/

/** Row of a delegation: its key, wrapped by the root key. */
const DELEGATION = 'delegation:'
/** Rows of the keys that a delegation opens. */
const DELEGATED = 'delegated:'
/** Row of a name that must not be used again. Contains no key. */
const REVOKED = 'revoked:'

/** A delegation as a gateway has it: a key for one tenant. */
export interface DelegatedKey {
  readonly tenantId: string
  readonly name: string
  readonly key: Secret<Buffer>
}

/** Lower-case letters, digits and hyphens, at most 20: the name is part of names of journals and of a database role. */
export const isDelegationName = (name: string): boolean => /^[a-z][a-z0-9-]{0,19}$/.test(name)

/** The text of a delegated key, one line. */
export const delegatedKeyText = ({ tenantId, name, key }: DelegatedKey): Secret<string> =>
  new Secret(`svdk1.${name}.${key.reveal().toString('base64url')}.${tenantId}`)

/** Undefined for another text. */
const parseDelegatedKey = (text: string): DelegatedKey | undefined => {
  const [, name, key, tenantId] = TEXT.exec(text.trim()) ?? []
  if (name === undefined || key === undefined || tenantId === undefined) return undefined
  return { tenantId, name, key: new Secret(Buffer.from(key, 'base64url')) }
}

/** The delegated key of a source: `file:<path>` or `env:<NAME>`. Rejects with a remedy, without key material. */
export const loadDelegatedKey = async (
  source: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<DelegatedKey> => {
  const place = source.slice(source.indexOf(':') + 1)
  const isFile = source.startsWith('file:')
  const text = isFile ? await readSecretFile(place) : env[place]
  const name = isFile ? `The file "${place}" of` : `The environment variable "${place}" of`
  if (text === undefined || text === '')
    throw new RootKeySourceError(
      `${name} SIDEVAULT_DELEGATED_KEY ${isFile ? 'does not exist' : 'is not set'}.`,
    )
  const key = parseDelegatedKey(text)
  if (key === undefined)
    throw new RootKeySourceError(
      `${name} SIDEVAULT_DELEGATED_KEY does not contain a delegated key. Use the file that "sidevault keys delegate" has written.`,
    )
  return key
}

/** Wraps keys for a delegation, under its key. */
export const delegationWrapper = (key: Buffer): Wrapper => createWrapper(key, DELEGATED_FORMAT)

export const delegationPurpose = (name: string): string => DELEGATION + name
export const revokedPurpose = (name: string): string => REVOKED + name
/** The purpose of a key (`data`, `mac`, `api-key`, `audit`) as a delegation has it. */
export const delegatedPurpose = (name: string, purpose: string): string => `${DELEGATED}${name}:${purpose}`

const after = (prefix: string, { purpose }: KeyName): string | undefined =>
  purpose.startsWith(prefix) ? purpose.slice(prefix.length) : undefined

/** The name, if this is the row of a delegation. */
export const delegationNameOf = (row: KeyName): string | undefined => after(DELEGATION, row)

/** The name, if this row marks a revoked delegation. */
export const revokedNameOf = (row: KeyName): string | undefined => after(REVOKED, row)

/** Name and purpose, if this row is a key for a delegation. */
export const delegatedKeyOf = (
  row: KeyName,
): { readonly name: string; readonly purpose: string } | undefined => {
  const [name, purpose] = after(DELEGATED, row)?.split(':') ?? []
  return name === undefined || purpose === undefined ? undefined : { name, purpose }
}

/** The keys of a delegation, with the purposes that they have elsewhere. */
export const rowsForDelegation = (rows: readonly KeyRow[], name: string): readonly KeyRow[] =>
  rows.flatMap((row) => {
    const delegated = delegatedKeyOf(row)
    return delegated?.name === name ? [{ ...row, purpose: delegated.purpose }] : []
  })

/**
 * The delegations in key rows, by name. A revocation that was interrupted is none yet: the key still opens. Others than
 * valid names were written by another program, and commands print names into SQL.
 */
export const delegationsIn = (rows: readonly Omit<KeyRow, 'wrapped'>[]): readonly Delegation[] => {
  const versionsOf = (tenantId: string, name: string) =>
    rows.flatMap((row) => {
      const key = row.tenant_id === tenantId ? delegatedKeyOf(row) : undefined
      return key?.name === name && key.purpose === 'data' ? [row.version] : []
    })
  return rows
    .flatMap((row): readonly Delegation[] => {
      const revoked = revokedNameOf(row)
      const name = revoked ?? delegationNameOf(row)
      if (name === undefined || !isDelegationName(name)) return []
      const { tenant_id: tenantId, created_at: at } = row
      const versions = versionsOf(tenantId, name)
      if (revoked !== undefined && versions.length > 0) return []
      return [{ name, tenantId, at, isRevoked: revoked !== undefined, versions }]
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The part of a journal's name that says whose it is. */
export const journalProcess = (process: string, { name }: Pick<DelegatedKey, 'name'>): string =>
  `${process}_${name}`

/** The delegation whose gateway writes this journal. */
export const delegationOfJournal = (journal: string): string | undefined =>
  /_([a-z][a-z0-9-]{0,19})-[0-9a-f]{12}$/.exec(journal)?.[1]

/** Use of the audit key that a delegation's is derived for. */
export const auditUse = (name: string): string => `audit delegation ${name}`
