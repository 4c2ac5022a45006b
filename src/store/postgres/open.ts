import { setTimeout } from 'node:timers/promises'
import { Client, DatabaseError } from 'pg'
import { systemClock } from '../../common/clock.ts'
import { AppError, codeOf } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { SCHEMA_VERSION } from '../migrations/index.ts'
import { rejectUnsupportedVersion } from '../schema-version.ts'
import type { Store } from '../store.ts'
import { createStore } from '../store.ts'
import { DEFAULT_LIMITS, readOnlyWriter, type WriterLimits } from '../writer.ts'
import { acquireLock } from './advisory-lock.ts'
import { watchChanges } from './changes.ts'
import { isLost } from './errors.ts'
import { migrate, rejectBypassRls, schemaVersion } from './migrate.ts'
import { clientConfig, openPool, type PostgresLimits, sessionSettings, UNLIMITED, USUAL } from './pool.ts'
import { readSession } from './session.ts'
import { beginConnection, StandbyError, serverTime } from './standby-check.ts'
import { rejectUnbound } from './tenant-role.ts'
import { createPostgresWriter } from './writer.ts'

/** Settings of the operator (config.ts). */
export interface PostgresSettings extends PostgresLimits {
  /** Connections for requests, at least two: four of seven read, the others write. */
  readonly connections: number
}

const DEFAULTS: PostgresSettings = { ...USUAL, connections: 14 }

interface PostgresOptions {
  /** `postgres://user:password@host:port/database?sslmode=…` */
  readonly address: string
  readonly mode: 'read-write' | 'join' | 'read-only'
  /** ms to wait for the server; other modes than read-write also wait for a process that migrates the schema. */
  readonly timeout: number
  readonly limits?: Partial<WriterLimits>
  readonly settings?: PostgresSettings
  /** Rejects a role that is not bound to one tenant (`tenant-role.ts`). */
  readonly bound?: boolean
}

const POLL = 100
const MAX_WAITING = 4_096

/** Certificate errors have Node's codes: https://nodejs.org/api/tls.html#x509-certificate-error-codes. */
const knownFix = (thrown: unknown): string | undefined => {
  const code = codeOf(thrown)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'Its certificate is for another host name. Use the name of the certificate in SIDEVAULT_STORE.'
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return 'Its certificate is expired or not yet valid. Renew it on the server, or correct the clock of this machine.'
  if (/CERT|SIGNATURE/.test(code))
    return 'Its certificate authority is not trusted. Add sslrootcert=<PEM file> to SIDEVAULT_STORE.'
  if (thrown instanceof Error && thrown.message === 'The server does not support SSL connections')
    return 'It does not support TLS. Enable TLS on the server (ssl = on), or set sslmode=disable on a trusted network.'
  if (thrown instanceof StandbyError)
    return 'It is a standby. Set SIDEVAULT_STORE to the primary, or to an address that always leads to it.'
  return undefined
}

/** Connection error with a fix. Without the server's message, which may quote the address. */
export const explain = (thrown: unknown): unknown => {
  if (thrown instanceof AppError) return thrown
  const code = codeOf(thrown)
  const fix =
    knownFix(thrown) ??
    (code.startsWith('28') || code === '3D000'
      ? 'Check user, password and database of SIDEVAULT_STORE.'
      : code === '42501'
        ? 'The role must own its database, or have the right to create tables in its schema.'
        : 'Check that the server runs and that SIDEVAULT_STORE is correct.')
  return new AppError('gateway_timeout', `PostgreSQL cannot be used (${code || 'no connection'}). ${fix}`, {
    cause: Object.assign(new Error('PostgreSQL cannot be used'), { code }),
  })
}

/** Runs `work` on a separate connection to the primary, without time limits. */
export const withClient = async <T>(address: string, work: (client: Client) => Promise<T>): Promise<T> => {
  const client = new Client(clientConfig(address, UNLIMITED))
  client.on('error', () => {})
  await client.connect()
  try {
    await beginConnection(client, sessionSettings(UNLIMITED))
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** True when the schema has this program's version. `owner`: migrates it. */
const prepare = (address: string, owner: boolean, bound: boolean): Promise<boolean> =>
  withClient(address, async (client) => {
    await rejectBypassRls(client)
    const version = await schemaVersion(client)
    rejectUnsupportedVersion(version)
    if (bound && version === SCHEMA_VERSION) await rejectUnbound(client)
    if (version < SCHEMA_VERSION && owner) await migrate(client, systemClock.now())
    return owner || version === SCHEMA_VERSION
  })

/** Waits for a server that is starting. */
const whenReady = async (
  address: string,
  { owner, bound }: { readonly owner: boolean; readonly bound: boolean },
  deadline: number,
): Promise<void> => {
  for (;;) {
    try {
      if (await prepare(address, owner, bound)) return
      if (systemClock.now() > deadline)
        throw new AppError(
          'gateway_timeout',
          'The database does not have the schema of this version. Start the admin role on it: it creates and migrates the tables.',
        )
    } catch (thrown) {
      const waits =
        thrown instanceof StandbyError ||
        (isLost(thrown) && !(thrown instanceof DatabaseError && codeOf(thrown).startsWith('28')))
      if (!waits || systemClock.now() > deadline) throw thrown
    }
    await setTimeout(POLL)
  }
}

/** The lock ends with the connection, so also when this process is killed. */
const underAdvisoryLock = async <T>(client: Client, name: string, work: () => Promise<T>): Promise<T> => {
  await client.query("select pg_advisory_lock(hashtextextended('sidevault alone ' || $1, 0))", [name])
  return work()
}

export const openPostgres = async (
  { log }: { readonly log: Log },
  options: PostgresOptions,
): Promise<Store> => {
  const { address, mode, timeout, settings = DEFAULTS, bound = false } = options
  try {
    await whenReady(address, { owner: mode === 'read-write', bound }, systemClock.now() + timeout)
  } catch (thrown) {
    throw explain(thrown)
  }
  const pool = (size: number) =>
    openPool({ log }, { address, size, maxWaiting: MAX_WAITING, limits: settings })
  const reading = Math.max(1, Math.floor((settings.connections * 4) / 7))
  const most = mode === 'read-only' ? settings.connections : reading
  const readers = pool(most)
  const session = readSession(readers, most)
  const writing = settings.connections - reading
  const writer =
    mode === 'read-only'
      ? readOnlyWriter
      : createPostgresWriter(pool(writing), { ...DEFAULT_LIMITS, ...options.limits, size: writing })
  const watched = watchChanges({ session, writer })
  let closing: Promise<void> | undefined
  const close = async () => {
    watched.close()
    await writer.close()
    await readers.close()
  }
  return createStore(
    { session, writer },
    {
      writable: mode === 'read-write',
      watched,
      withLock: (name, work) => withClient(address, (client) => underAdvisoryLock(client, name, work)),
      acquireLock: (name, how) => acquireLock({ log }, name, { address, ...how }),
      time: () => serverTime(session),
      close: () => (closing ??= close()),
    },
  )
}
