import { type ClientBase, type ClientConfig, Pool, type PoolClient, types } from 'pg'
import { AppError } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import { connectionOf } from './address.ts'
import { isLost, isReadOnly } from './errors.ts'
import { beginConnection } from './standby-check.ts'
import { forgetScope } from './tenant-scope.ts'

export interface PoolOptions {
  readonly address: string
  /** Connections, at most. */
  readonly size: number
  /** Callers that may wait for one. */
  readonly maxWaiting: number
  readonly limits: PostgresLimits
}

/** How long PostgreSQL is waited for, in ms. */
export interface PostgresLimits {
  /** The server works on one statement before it gives up. */
  readonly statementMs: number
  /** A statement waits for another transaction's lock. */
  readonly lockMs: number
  /** To get a connection, be it a free one or a new one. */
  readonly connectMs: number
}

export const USUAL: PostgresLimits = { statementMs: 10_000, lockMs: 5_000, connectMs: 5_000 }
/** For the steps of the schema, copies, and what waits for something to happen. */
export const UNLIMITED = { ...USUAL, statementMs: 0, lockMs: 0 }

/** ms on top of the server's own limit until a connection that says nothing is given up. */
const SILENCE_MS = 5_000

const INT8 = 20
const NUMERIC = 1700

/** Every number of the schema fits: times in ms, counters, sums of them. */
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

export interface Connections {
  /** Lends a connection to `work`. A connection that failed is not lent again. */
  use<T>(work: (client: ClientBase) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const overloaded = () =>
  new AppError('overloaded', 'Too many calls wait for the store. Retry shortly.', { retryAfter: 1 })

export const openPool = ({ log }: { readonly log: Log }, options: PoolOptions): Connections => {
  const { address, size, maxWaiting, limits } = options
  const pool = new Pool({
    ...clientConfig(address, limits),
    max: size,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
    onConnect: async (client) => {
      // While it is lent nobody else listens; what was asked of it fails, which is enough.
      client.on('error', () => {})
      await beginConnection(client)
    },
  })
  pool.on('error', (thrown) =>
    log.warn({ code: (thrown as { code?: unknown }).code }, 'an idle connection to the store was lost'),
  )
  let closing: Promise<void> | undefined
  return {
    use: async (work) => {
      if (closing)
        throw new AppError('gateway_timeout', 'The store is closed: this process is stopping. Retry.')
      if (pool.waitingCount >= maxWaiting) throw overloaded()
      const client: PoolClient = await pool.connect()
      let lost = false
      try {
        return await work(client)
      } catch (thrown) {
        // It may be read-only for its life, while a new one is not.
        lost = isLost(thrown) || isReadOnly(thrown) || (thrown instanceof AppError && thrown.uncertain)
        if (lost) forgetScope(client)
        throw thrown
      } finally {
        client.release(lost)
      }
    },
    close: () => (closing ??= pool.end()),
  }
}
