import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isoTime, parseIsoTime, systemClock } from '../common/clock.ts'
import { AppError, codeOf } from '../common/errors.ts'
import { createLog } from '../common/log.ts'
import { programVersion } from '../common/version.ts'
import { shownSettings } from '../config/print.ts'
import type { Config } from '../config.ts'
import { rootIdOf } from '../keys/wrap.ts'
import { storeLocation } from '../roles/runtime.ts'
import type { KeyName, KeyRow } from '../store/keys/types.ts'
import type { LogListQuery, LogListRow } from '../store/logs/types.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { StartError } from '../supervisor/start-error.ts'
import { verifiedJson, verifyAudit, verifyAuditRows } from './audit.ts'
import { evidenceMarkdown } from './evidence-markdown.ts'
import { type Print, rejectAbsent } from './open-vault.ts'

const PAGE = 1_000
const DAY_MS = 86_400_000

/** Entity types whose records are changes of rules or configuration; for those that are also used, the operations. */
const CHANGED: Readonly<Record<string, readonly string[] | undefined>> = {
  application: undefined,
  application_key: undefined,
  proxy: ['create', 'update', 'delete'],
  reactor: ['create', 'update', 'delete'],
  reactor_formula: undefined,
  tenant: undefined,
  tenant_invitation: undefined,
  tenant_member: undefined,
  webhook: ['create', 'update', 'delete', 'disable'],
}
/** Of the service itself: commands of operators. */
const OF_SERVICE = ['service', 'journal']

interface KeyEvidence {
  /** `''`: the service. */
  readonly tenant_id: string
  readonly purpose: string
  readonly version: number
  readonly created_at: string
  readonly age_days: number
  /** False: a newer version seals. */
  readonly newest: boolean
}

/** Members of a record that are shown. */
const SHOWN = [
  'tenant_id',
  'entity_type',
  'entity_id',
  'operation',
  'actor_id',
  'actor_type',
  'message',
  'trace_id',
] as const satisfies readonly (keyof LogListRow)[]

type Change = { readonly created_at: string } & Pick<LogListRow, (typeof SHOWN)[number]>

const changeOf = (row: LogListRow): Change => {
  const shown = Object.fromEntries(SHOWN.map((name) => [name, row[name]]))
  return { created_at: isoTime(row.created_at), ...(shown as Pick<LogListRow, (typeof SHOWN)[number]>) }
}

export interface Evidence {
  readonly format: 1
  readonly created_at: string
  readonly since: string
  readonly versions: Readonly<Record<string, string | null>>
  /** What runs on the data directory of this machine. */
  readonly services: readonly object[]
  readonly configuration: object
  readonly keys: {
    readonly root_key: { readonly id: string | null; readonly since: string; readonly age_days: number }
    readonly keys: readonly KeyEvidence[]
  }
  readonly audit: {
    readonly ok: boolean
    /** Records in the files of this machine that the store does not have yet, so that `changes` lacks them. */
    readonly not_stored: number
    readonly files: object
    readonly rows: object
  }
  readonly changes: readonly Change[]
}

const ageOf = (created: number, now: number) => ({
  created_at: isoTime(created),
  age_days: Math.floor((now - created) / DAY_MS),
})

const allKeys = async ({ keys }: Store): Promise<readonly KeyRow[]> => {
  const all: KeyRow[] = []
  let after: KeyName = { tenant_id: '', purpose: '', version: 0 }
  for (;;) {
    const page = await keys.page(after, PAGE)
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined) return all
    after = last
  }
}

/** All rows of a list, oldest first. */
const logsOf = async (
  { logs }: Store,
  filter: Omit<LogListQuery, 'size'>,
): Promise<readonly LogListRow[]> => {
  const all: LogListRow[] = []
  for (;;) {
    const after = all.at(-1)
    const page = await logs.list({ ...filter, size: PAGE, ...(after ? { after } : {}) })
    all.push(...page)
    if (page.length < PAGE) return all.reverse()
  }
}

const keysOf = async (store: Store, now: number): Promise<Evidence['keys']> => {
  const rows = await allKeys(store)
  const nameOf = ({ tenant_id, purpose }: KeyRow) => JSON.stringify([tenant_id, purpose])
  const newest = new Map(rows.map((row) => [nameOf(row), row.version])) // in the order of versions
  const check = rows.find(({ tenant_id, purpose }) => tenant_id === '' && purpose === 'check')
  const changes = await logsOf(store, { tenantId: '', entityType: 'service', entityId: 'root-key' })
  const rotated = changes.findLast(({ message }) => message.endsWith('completed'))?.created_at
  const { created_at: since, age_days } = ageOf(rotated ?? check?.created_at ?? now, now)
  return {
    root_key: { id: (check && rootIdOf(check)) ?? null, since, age_days },
    // By member: the row has the wrapped key.
    keys: rows.map((row) => ({
      tenant_id: row.tenant_id,
      purpose: row.purpose,
      version: row.version,
      ...ageOf(row.created_at, now),
      newest: newest.get(nameOf(row)) === row.version,
    })),
  }
}

const changesOf = async (store: Store, from: number): Promise<readonly Change[]> => {
  const filters = [
    ...OF_SERVICE.map((entityType) => ({ tenantId: '', entityType })),
    ...(await store.tenants.list()).flatMap(({ id: tenantId }) =>
      Object.entries(CHANGED).flatMap(([entityType, operations = [undefined]]) =>
        operations.map((operation) => ({ tenantId, entityType, ...(operation ? { operation } : {}) })),
      ),
    ),
  ]
  const rows: LogListRow[] = []
  for (const filter of filters)
    try {
      rows.push(...(await logsOf(store, { ...filter, from })))
    } catch (thrown) {
      if (!(thrown instanceof AppError && thrown.code === 'invalid')) throw thrown
      throw new StartError(
        `The audit log has too many records of "${filter.entityType}" since then for one search. Choose a later date for --since.`,
      )
    }
  return rows.sort((one, other) => one.created_at - other.created_at || one.seq - other.seq).map(changeOf)
}

/** Parses `--since`. Throws StartError. */
const sinceOf = (text: string, now: number): number => {
  const since = parseIsoTime(text)
  if (since !== undefined && since <= now) return since
  throw new StartError(
    `The value of --since is ${since === undefined ? 'not a date' : 'in the future'}. Write a date such as ${new Date(now - 90 * DAY_MS).toISOString().slice(0, 10)}.`,
    { configuration: true },
  )
}

const FILES = ['evidence.json', 'evidence.md'] as const

/** Creates the folder. Throws StartError when that fails, or one of the files exists. */
const createFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK)
  } catch (thrown) {
    throw new StartError(
      `The folder "${folder}" cannot be written (${codeOf(thrown)}). Choose another one for --out.`,
    )
  }
  if (FILES.some((name) => existsSync(join(folder, name))))
    throw new StartError(`"${folder}" has evidence already. Choose another folder for --out.`)
}

const sbomHash = (): string =>
  createHash('sha256')
    .update(readFileSync(new URL('../../sbom.cdx.json', import.meta.url)))
    .digest('hex')

/**
 * `sidevault evidence`: writes the evidence into a folder, for programs and for people; false when a journal is
 * broken. It has no value, key, password or other secret: the store is opened to read, rows are copied by member.
 * `services`: what runs on this machine. The service may run.
 */
export const runEvidence = async (
  config: Config,
  options: {
    readonly since: string
    readonly out: string
    readonly services: readonly object[]
    readonly envoy: string | undefined
  },
  print: Print,
): Promise<boolean> => {
  const now = systemClock.now()
  const since = sinceOf(options.since, now)
  rejectAbsent(config)
  createFolder(options.out)

  const files = await verifyAudit(config)
  const rows = await verifyAuditRows(config, [])
  const stored = new Map(rows.journals.map(({ name, rows }) => [name, rows]))
  const missing = files.journals
    .map(({ name, records }) => Math.max(0, records - (stored.get(name) ?? 0)))
    .reduce((sum, count) => sum + count, 0)
  const location = storeLocation(config)
  const log = createLog('operator', config.logLevel)
  const store = await openStore({ location, postgres: config.storeLimits, mode: 'read-only', log })
  try {
    const evidence: Evidence = {
      format: 1,
      created_at: isoTime(now),
      since: isoTime(since),
      versions: {
        sidevault: programVersion(),
        node: process.versions.node,
        envoy: options.envoy ?? null,
        store: config.postgres === undefined ? 'SQLite' : 'PostgreSQL',
        platform: `${process.platform}-${process.arch}`,
        'sbom.cdx.json': `sha256:${sbomHash()}`,
      },
      services: options.services,
      configuration: shownSettings(config),
      keys: await keysOf(store, now),
      audit: { ok: files.ok && rows.ok, not_stored: missing, files: verifiedJson(files), rows },
      changes: await changesOf(store, since),
    }
    const texts = [`${JSON.stringify(evidence, undefined, 2)}\n`, evidenceMarkdown(evidence)]
    for (const [at, name] of FILES.entries()) {
      writeFileSync(join(options.out, name), texts[at] ?? '', { mode: 0o600, flag: 'wx' })
      print(`written ${join(options.out, name)}`)
    }
    if (missing > 0)
      print(
        `note    ${missing} audit records are not in the store yet, so their changes are missing. Start the service, and repeat the command.`,
      )
    if (!evidence.audit.ok) print('BROKEN  audit: see "sidevault audit verify"')
    return evidence.audit.ok
  } finally {
    await store.close()
  }
}
