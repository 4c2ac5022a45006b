import { type FileHandle, open, rm } from 'node:fs/promises'
import { systemClock } from '../common/clock.ts'
import { AppError } from '../common/errors.ts'
import { newId, newKey } from '../common/ids.ts'
import { isObject, type Json } from '../common/json.ts'
import { Secret } from '../common/secret.ts'
import { weigh } from '../common/weight.ts'
import type { Config } from '../config.ts'
import { sealMutation } from '../kernel/services/seal-records.ts'
import { createTenant } from '../roles/create-tenant.ts'
import type { Collection, EgressLimits } from '../sdk/index.ts'
import type { NewToken } from '../store/tokens/types.ts'
import { indexTerms } from '../vault/index-terms.ts'
import { type Opened, sealToken, tokenBinding } from '../vault/seal.ts'
import { createTokenTypes } from '../vault/token-types.ts'
import { readEncrypted } from './encrypted-archive.ts'
import { type OperatedKernel, withKernel } from './open-kernel.ts'
import type { Print } from './open-vault.ts'

const BATCH = 100
/** Weight of the tokens of one write: the writers of a running service wait for it. */
const MAX_WEIGHT = 4 * 1024 * 1024

interface ExportedToken {
  readonly id: string
  readonly type: string
  readonly container: string
  readonly metadata: Readonly<Record<string, string>> | null
  readonly expires_at: number | null
  readonly created_by: string
  readonly created_at: number
  readonly egress: EgressLimits | null
  readonly fingerprinted: boolean
  readonly data: Json
  readonly ephemeral: readonly [string, { readonly value: Json; readonly until: number }][]
  readonly mask?: Json
  readonly searchIndexes?: readonly string[]
  readonly fingerprintExpression?: string
}

type Line = Readonly<Record<string, unknown>>

interface Survey {
  readonly tenant: {
    readonly id: string
    readonly name: string
    readonly settings: Readonly<Record<string, string>>
  }
  readonly counts: unknown
}

/**
 * Reads the complete file before anything is written: checks that it is valid, and that its types and collections
 * exist.
 */
const survey = async (
  lines: AsyncIterable<unknown>,
  { kernel, collections }: Pick<OperatedKernel, 'kernel' | 'collections'>,
): Promise<Survey> => {
  let first: Line | undefined
  let last: Line | undefined
  const lacking = new Set<string>()
  for await (const line of lines as AsyncIterable<Line>) {
    first ??= line
    last = line
    if (isObject(line.token) && !kernel.registry.tokenTypes.has(String(line.token.type)))
      lacking.add(`token type "${line.token.type}"`)
    if (line.record !== undefined && !collections.some(({ name }) => name === line.collection))
      lacking.add(`collection "${line.collection}"`)
  }
  if (!isObject(first?.tenant) || !isObject(last?.end))
    throw new AppError('invalid', 'The file contains no tenant. Nothing was changed.')
  if (lacking.size > 0)
    throw new AppError(
      'invalid',
      `No plugin provides ${[...lacking].join(', ')}. Add the plugin and retry. Nothing was changed.`,
    )
  return { tenant: first.tenant as Survey['tenant'], counts: last.end }
}

/**
 * Computes lookup hashes of a record again. Undefined when the hashed value is not stored, so the record cannot be
 * imported.
 */
const withLookups = async (
  { store, keys }: Pick<OperatedKernel, 'store' | 'keys'>,
  collection: Collection,
  record: Line,
): Promise<{ readonly record: Line; readonly renewed?: string } | undefined> => {
  let moved = record
  let renewed: string | undefined
  for (const lookup of collection.lookups ?? []) {
    const member = /^(.+)_hash$/.exec(lookup)?.[1]
    const text = member === undefined ? undefined : record[member]
    if (member === undefined || typeof text !== 'string') return undefined
    const hash = (key: string) => keys.mac('api-key', key)
    const applied = await store.records.lookup(collection.name, lookup, hash(text))
    const retained = applied === undefined ? text : newKey().replace('key_', '')
    if (applied !== undefined) renewed = retained
    moved = { ...moved, [member]: retained, [lookup]: hash(retained) }
  }
  return renewed === undefined ? { record: moved } : { record: moved, renewed }
}

interface Import {
  readonly path: string
  readonly passphrase: Secret<string>
  /** Path of a new file. */
  readonly map: string
}

const importInto = (
  config: Config,
  { path, passphrase, map, file }: Import & { readonly file: FileHandle },
  print: Print,
): Promise<void> =>
  withKernel(config, async (vault) => {
    const { store, keys, kernel, collections, record } = vault
    const { tenant, counts } = await survey(readEncrypted(path, passphrase), vault)
    const { credentials } = kernel.registry.ports
    if (credentials === undefined)
      throw new AppError(
        'gateway_timeout',
        'No plugin authenticates API keys. Add the plugin "applications".',
      )
    const id = newId()
    const key = new Secret(newKey())
    const now = systemClock.now()
    await record(id, 'tenant', id, `Tenant imported, exported as ${tenant.id}`)
    const { name, settings } = tenant
    await createTenant({ store, keys, credentials }, { id, name, key, now, settings })
    const proxyKeys: Record<string, string> = {}
    const left: Record<string, number> = {}
    try {
      const types = createTokenTypes(() => kernel.registry.tokenTypes)
      let tokens: ExportedToken[] = []
      let weight = 0

      const flush = async (): Promise<void> => {
        if (tokens.length === 0) return
        const ring = await keys.tenant(id)
        const rows = tokens.map((token): NewToken => {
          const { data, ephemeral, mask, searchIndexes, fingerprintExpression, fingerprinted, ...row } = token
          const opened: Opened = {
            data,
            ephemeral: new Map(ephemeral),
            ...(mask === undefined ? {} : { mask }),
            ...(searchIndexes === undefined ? {} : { searchIndexes }),
            ...(fingerprintExpression === undefined ? {} : { fingerprintExpression }),
          }
          const type = types.get(row.type)!
          const { fingerprint, terms } = indexTerms(kernel, ring, type, opened, row, fingerprinted)
          const bound = tokenBinding(id, { ...row, fingerprint, version: 1 })
          const rest = { fingerprint, terms, deduplicate: false, fallbackIds: [] }
          return { ...row, ...sealToken(ring, opened, bound), ...rest, tenant_id: id }
        })
        tokens = []
        weight = 0
        await store.tokens.create(rows, now)
      }

      const importRecord = async (line: Line): Promise<void> => {
        const collection = collections.find(({ name }) => name === line.collection)
        if (collection === undefined) return
        const moved = await withLookups(vault, collection, line.record as Line)
        if (moved === undefined) {
          left[collection.name] = (left[collection.name] ?? 0) + 1
          return
        }
        const recordId = String(moved.record.id)
        if (moved.renewed !== undefined) proxyKeys[recordId] = moved.renewed
        const insert = {
          kind: 'insert',
          collection: collection.name,
          tenantId: id,
          id: recordId,
          record: moved.record,
        } as const
        await store.records.commit([await sealMutation(keys, collection, insert)], now)
      }

      for await (const line of readEncrypted(path, passphrase) as AsyncIterable<Line>) {
        if (line.token !== undefined) {
          tokens.push(line.token as ExportedToken)
          weight += weigh(line.token, MAX_WEIGHT)
          if (tokens.length === BATCH || weight > MAX_WEIGHT) await flush()
        } else if (line.record !== undefined) await importRecord(line)
        else if (typeof line.parent === 'string' && typeof line.child === 'string') {
          await flush()
          const pair = await store.tokens.read(id, [line.parent, line.child], now)
          const seqOf = (id: unknown) => pair.find((token) => token.id === id)?.seq
          const [parentSeq, childSeq] = [seqOf(line.parent), seqOf(line.child)]
          // Either may have expired since the export.
          if (parentSeq !== undefined && childSeq !== undefined)
            await store.tokens.associate({ tenantId: id, parentSeq, childSeq }, now)
        }
      }
      await flush()
      const reported = {
        tenant: { from: tenant.id, to: id },
        tokens: 'same ids',
        records: 'same ids',
        counts,
      }
      await file.writeFile(
        `${JSON.stringify({ ...reported, new_keys: proxyKeys, left_behind: left }, null, 2)}\n`,
      )
      await file.sync()
    } catch (thrown) {
      await store.tenants.delete(id, systemClock.now())
      throw thrown
    }
    print(`tenant  ${id}`)
    print(`key     ${key.reveal()}`)
    print(`map     ${map}`)
  })

/**
 * `sidevault import`: imports an exported tenant as a new tenant of this vault. Ids of tokens and records stay, since
 * they are unique per tenant. Fingerprints and search terms are computed again. API keys are not included, since only
 * their hashes are stored: create others with the new management key. The map file has the new ids and keys.
 */
export const runImport = async (config: Config, options: Import, print: Print): Promise<void> => {
  const { map } = options
  const file = await open(map, 'wx', 0o600).catch((cause: NodeJS.ErrnoException) => {
    const sentence = `The map "${map}" cannot be created (${cause.code}). Name another file with --map. Nothing was changed.`
    throw new AppError('invalid', sentence, { cause })
  })
  try {
    await importInto(config, { ...options, file }, print)
  } catch (thrown) {
    await rm(map, { force: true })
    throw thrown
  } finally {
    await file.close()
  }
}
