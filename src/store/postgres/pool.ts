import { type ClientBase, type ClientConfig, Pool, type PoolClient, types } from 'pg'
import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { connectionOf } from './address.ts'
import { isLost, isReadOnly } from './errors.ts'
import { beginConnection } from './standby-check.ts'
import { forgetScope } from './tenant-scope.ts'

interface PoolOptions {
  readonly address: string
  /** Maximum number of connections. */
  readonly size: number
  /** Maximum number of waiting callers. */
  readonly maxWaiting: number
  readonly limits: PostgresLimits
}

/** Time limits for PostgreSQL, ms. */
export interface PostgresLimits {
  /** Limit of one statement. */
  readonly statementMs: number
  /** Limit of the wait for another transaction's lock. */
  readonly lockMs: number
  /** Limit of the wait for a free or new connection. */
  readonly connectMs: number
  /** Limit of an open transaction's wait for its next statement. Default: above `statementMs`. */
  readonly idleMs?: number
}

export const USUAL: PostgresLimits = { statementMs: 10_000, lockMs: 5_000, connectMs: 5_000 }
/** Limits for migrations, copies, and connections that wait for events. */
export const UNLIMITED: PostgresLimits = { ...USUAL, statementMs: 0, lockMs: 0, idleMs: 0 }

/** ms beyond the server's own limit after which a silent connection is closed, by either side. */
const SILENCE_MS = 5_000
/** Seconds of silence before the server sends TCP keepalives, their interval and count. */
const KEEPALIVES = { idle: 3, interval: 2, count: 3 } as const

const INT8 = 20
const NUMERIC = 1700

/** Numbers of the schema are safe integers: times in ms, counters and their sums. */
const toNumber = (text: string): number => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError('a number of the database is beyond 2^53')
  return value
}

const rowTypes = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 || oid === NUMERIC ? toNumber : types.getTypeParser(oid, format),
}

/** 0: no limit. */
export const clientConfig = (
  address: string,
  { statementMs, lockMs, connectMs }: PostgresLimits,
): ClientConfig => ({
  ...connectionOf(address),
  application_name: 'sidevault',
  connectionTimeoutMillis: connectMs,
  keepAlive: true,
  pipeline: true,
  types: rowTypes as NonNullable<ClientConfig['types']>,
  ...(statementMs > 0
    ? { statement_timeout: statementMs, lock_timeout: lockMs, query_timeout: statementMs + SILENCE_MS }
    : {}),
})

/** Instead of the limits of the role or database. */
const NO_LIMITS = {
  statement_timeout: '0',
  lock_timeout: '0',
  transaction_timeout: '0',
  idle_session_timeout: '0',
} as const

/**
 * Settings of a session that `beginConnection` applies. A machine that vanishes during a transaction would otherwise
 * hold its locks until the server's TCP timeout.
 */
export const sessionSettings = ({
  statementMs,
  idleMs = statementMs > 0 ? statementMs + SILENCE_MS : 0,
}: PostgresLimits): Readonly<Record<string, string>> => ({
  idle_in_transaction_session_timeout: String(idleMs),
  tcp_keepalives_idle: String(KEEPALIVES.idle),
  tcp_keepalives_interval: String(KEEPALIVES.interval),
  tcp_keepalives_count: String(KEEPALIVES.count),
  ...(statementMs > 0 ? {} : NO_LIMITS),
})

const discarded = new WeakSet<ClientBase>()

/** Closes a lent connection when it is returned, since its state is unknown. */
export const discard = (client: ClientBase): void => {
  discarded.add(client)
}

export interface Connections {
  /** Lends a connection to `work`. A failed connection is not reused. */
  use<T>(work: (client: ClientBase) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const overloaded = () =>
  new AppError('overloaded', 'Too many calls are waiting for the store. Retry shortly.', { retryAfter: 1 })

export const openPool = ({ log }: { readonly log: Log }, options: PoolOptions): Connections => {
  const { address, size, maxWaiting, limits } = options
  const pool = new Pool({
    ...clientConfig(address, limits),
    max: size,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
    onConnect: async (client) => {
      // A lent connection has no other listener; its queries fail, which is enough.
      client.on('error', () => {})
      await beginConnection(client, sessionSettings(limits))
    },
  })
  pool.on('error', (thrown) =>
    log.warn({ code: (thrown as { code?: unknown }).code }, 'idle store connection lost'),
  )
  let closing: Promise<void> | undefined
  return {
    use: async (work) => {
      if (closing) throw new AppError('overloaded', 'The store is closed: this process is stopping. Retry.')
      if (pool.waitingCount >= maxWaiting) throw overloaded()
      const client: PoolClient = await pool.connect()
      let lost = false
      try {
        return await work(client)
      } catch (thrown) {
        // This connection may stay read-only while a new one is not.
        lost = isLost(thrown) || isReadOnly(thrown) || (thrown instanceof AppError && thrown.uncertain)
        if (lost) forgetScope(client)
        throw thrown
      } finally {
        client.release(lost || discarded.has(client))
      }
    },
    close: () => (closing ??= pool.end()),
  }
}
