import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '../../src/audit/journal.ts'
import type { AuditRecord, Journal } from '../../src/audit/types.ts'
import type { Clock } from '../../src/common/clock.ts'
import { AppError } from '../../src/common/errors.ts'
import { newId } from '../../src/common/ids.ts'
import { createLog } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { Secret } from '../../src/common/secret.ts'
import { createExpressions } from '../../src/expressions/expressions.ts'
import { openKeys } from '../../src/keys/open.ts'
import type { AccessRule, Grants, TokenPermission, TokenType, UseContext } from '../../src/sdk/index.ts'
import { openStore } from '../../src/store/open.ts'
import { createVault } from '../../src/vault/vault.ts'
import type { VaultLimits } from '../../src/vault/vault-deps.ts'
import { atProcessEnd } from '../kit/process-end.ts'
import { storeInThread } from '../kit/store-in-thread.ts'

/** Small types of the tests' own, with one of each trait that the vault treats specially. */
const TYPES: readonly TokenType[] = [
  {
    name: 'token',
    title: 'Token',
    data: {},
    container: '/general/high/',
    fingerprint: '{{ data | stringify }}',
  },
  {
    name: 'card',
    title: 'Card',
    data: {
      type: 'object',
      required: ['number'],
      properties: {
        number: { type: 'string', pattern: '^[0-9]{13,19}$' },
        expiration_month: { type: 'integer', minimum: 1, maximum: 12 },
        expiration_year: { type: 'integer' },
        cvc: { type: 'string', pattern: '^[0-9]{3,4}$' },
      },
    },
    checks: [{ check: 'luhn', at: '/number' }],
    container: '/pci/high/',
    mask: {
      number: '{{ data.number | reveal_last: 4 }}',
      expiration_month: '{{ data.expiration_month }}',
    },
    fingerprint: '{{ data.number }}',
    ephemeral: [{ at: '/cvc', seconds: 3600 }],
  },
  {
    name: 'locker',
    title: 'Locker',
    data: {
      type: 'object',
      properties: { name: { type: 'string' }, pin: { type: 'string' } },
      required: ['pin'],
    },
    normalize: (data) => ({
      ...(data as object),
      name: String((data as { name?: string }).name ?? '').trim(),
    }),
    container: '/pii/high/',
    mask: '{{ data.name }}',
    fingerprint: '{{ data.name }}',
    searchIndexes: ['{{ data.name }}'],
    writeOnly: ['/pin'],
  },
]

export const CARD = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' }
export const MASKED_CARD = { number: 'XXXXXXXXXXXX4242', expiration_month: 12 }
export const START = Date.parse('2026-03-01T12:00:00Z')

export const ALL: readonly TokenPermission[] = [
  'token:create',
  'token:read',
  'token:update',
  'token:delete',
  'token:use',
  'token:search',
]

export const rule = (
  container: string,
  transform: AccessRule['transform'],
  permissions: readonly TokenPermission[],
  priority = 1,
): AccessRule => ({ description: 'rule', priority, container, transform, permissions })

const log = createLog('test', 'silent')

/** Store, keys and journal of vaults. */
const openParts = async (directory: string, clock: Clock, threads = false) => {
  const location = join(directory, 'vault.db')
  const store = threads
    ? await openStore({ location, mode: 'read-write', log })
    : storeInThread(location).store
  const rootKey = new Secret(randomBytes(32))
  const keys = await openKeys({ keys: store.keys, clock }, { rootKey, create: true })
  mkdirSync(join(directory, 'audit'))
  const journal = await openJournal(
    { mac: (data) => keys.mac('audit', data), log },
    { directory: join(directory, 'audit'), name: 'test' },
  )
  const close = async () => {
    await journal.close()
    await store.close()
  }
  return { store, keys, journal, close }
}

/** The clock of all vaults of this process: tests run one after the other, each from `START` on. */
const clock = { at: START, now: () => clock.at }

let shared: ReturnType<typeof openParts> | undefined

/** Opened once in a process and closed with it (test/runner/run-files.ts). */
const sharedParts = (): ReturnType<typeof openParts> => {
  if (shared === undefined) {
    const directory = mkdtempSync(join(tmpdir(), 'sidevault-vault-'))
    const opened = openParts(directory, clock)
    atProcessEnd(async () => {
      await (await opened).close()
      rmSync(directory, { recursive: true, force: true })
    })
    shared = opened
  }
  return shared
}

interface VaultOptions {
  readonly limits?: Partial<VaultLimits>
  readonly types?: readonly TokenType[]
  /** A store that no other test writes to. Default: all tests of a process share one, with a tenant each. */
  readonly own?: boolean
  /** A store with its writer thread, for tests that measure this thread. */
  readonly threads?: boolean
}

/** A vault with a tenant over a real SQLite store, keys and journal, with a clock that tests move. */
export const openTestVault = async (
  t: { testdir(): string; after(end: () => Promise<void>): unknown },
  options: VaultOptions = {},
) => {
  clock.at = START
  const alone = options.own || options.threads
  const parts = alone ? await openParts(t.testdir(), clock, options.threads) : await sharedParts()
  if (alone) t.after(() => parts.close())
  const { keys, journal: real } = parts
  /** A copy, for tests that replace methods. */
  const store = { ...parts.store, tokens: { ...parts.store.tokens } }

  const records: AuditRecord[] = []
  const failing = { append: false, health: false }
  const journal: Journal = {
    append: async (written) => {
      if (failing.append) throw new AppError('gateway_timeout', 'The audit journal cannot be written.')
      await real.append(written)
      records.push(...written)
    },
    health: async () => {
      if (failing.health) throw new AppError('gateway_timeout', 'The audit journal cannot be written.')
      await real.health()
    },
    close: () => real.close(),
  }

  const addTenant = async (settings: Record<string, string> = {}): Promise<string> => {
    const id = newId()
    const tenant = {
      id,
      owner_id: newId(),
      name: 'tenant',
      settings,
      created_by: null,
      created_at: clock.at,
      modified_by: null,
      modified_at: null,
    }
    await store.tenants.create(tenant, await keys.newTenantKeys(id, clock.at))
    return id
  }
  const tenant = await addTenant()
  const types = new Map((options.types ?? TYPES).map((type) => [type.name, type]))
  const metrics = createMetrics()
  const vault = createVault(
    {
      tokens: store.tokens,
      keys,
      expressions: createExpressions(),
      tokenTypes: () => types,
      tenants: {
        get: async (id) => {
          const row = await store.tenants.get(id)
          return row && { id, owner_id: row.owner_id, name: row.name, settings: row.settings, created_at: 0 }
        },
      },
      journal,
      clock,
      metrics,
    },
    options.limits ? { limits: options.limits } : {},
  )

  /** The context of an application that holds `permissions` and `rules`, at the clock's time. */
  const as = (
    permissions: readonly TokenPermission[] = ALL,
    rules: readonly AccessRule[] = [],
    tenantId = tenant,
  ): UseContext => {
    const grants: Grants = { permissions, rules }
    const caller = {
      tenantId,
      actorId: 'a6d1a6e0-0000-4000-8000-000000000001',
      actorType: 'application',
      applicationType: 'private',
      grants,
    } as const
    return { caller, traceId: 'trace', now: clock.at }
  }
  const reveal = (tenantId = tenant) => as([], [rule('/', 'reveal', ALL)], tenantId)

  const create = async (input: object, context = as()) => {
    const [token] = await vault.create([input as never], context)
    if (!token) throw new Error('no token was returned')
    return token
  }
  return {
    vault,
    store,
    keys,
    clock,
    records,
    failing,
    metrics,
    types,
    tenant,
    addTenant,
    as,
    reveal,
    create,
  }
}

export type TestVault = Awaited<ReturnType<typeof openTestVault>>

/** The error of a rejected promise, for looking at its code and members. */
export const failure = async (promise: Promise<unknown>): Promise<AppError> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('it did not fail')
}
