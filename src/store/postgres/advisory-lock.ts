import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { codeOf } from '../../common/errors.ts'
import type { Log } from '../../common/log.ts'
import type { LockOptions, StoreLock } from '../lock.ts'
import { fromPostgres } from './errors.ts'
import { clientConfig, sessionSettings, USUAL } from './pool.ts'
import { beginConnection } from './standby-check.ts'

/** ms between two attempts. */
const RETRY_MS = 100
/** ms between two connection checks, and the timeout of each. */
const CHECK_MS = 5_000
const LIMITS = { ...USUAL, statementMs: CHECK_MS }
const TIMEOUT_MS = 12_000

const KEY = "hashtextextended('sidevault held ' || $1, 0)"

const TRY_LOCK = `select pg_try_advisory_lock(${KEY}) as locked`

/** Backend that holds the lock. */
const HOLDER = `select pid from pg_catalog.pg_locks where locktype = 'advisory' and granted and objsubid = 1
  and database = (select oid from pg_catalog.pg_database where datname = current_database())
  and (classid::bigint << 32 | objid::bigint) = ${KEY}`

const connect = async (address: string): Promise<Client> => {
  const client = new Client(clientConfig(address, LIMITS))
  client.on('error', () => {})
  try {
    await client.connect()
    await beginConnection(client, sessionSettings(LIMITS))
    return client
  } catch (thrown) {
    client.end().catch(() => {})
    throw thrown
  }
}

/**
 * Acquires a session-level advisory lock; the server releases it with the connection. Undefined when another process
 * holds it past the timeout. A lost connection is reopened until it succeeds; when another process has the lock by
 * then, `onLocked` is called once.
 */
export const acquireLock = async (
  { log }: { readonly log: Log },
  name: string,
  { address, onLocked, timeout = TIMEOUT_MS }: LockOptions & { readonly address: string },
): Promise<StoreLock | undefined> => {
  let holder: Client | undefined
  /** Backends of this process since the last acquisition. The response that one acquired the lock may be lost. */
  const own = new Set<number>()
  let released = false

  /**
   * `retry`: the holder is releasing it, or is a lost connection of this process, whose end the server has not seen.
   */
  const tryLock = async (): Promise<'acquired' | 'held by another' | 'retry'> => {
    const client = await connect(address)
    try {
      const { pid } = (await client.query('select pg_backend_pid() as pid')).rows[0]
      own.add(pid)
      const { locked } = (await client.query(TRY_LOCK, [name])).rows[0]
      if (locked) {
        holder = client
        own.clear()
        own.add(pid)
        watch(client)
        return 'acquired'
      }
      const other: number | undefined = (await client.query(HOLDER, [name])).rows[0]?.pid
      client.end().catch(() => {})
      return other === undefined || own.has(other) ? 'retry' : 'held by another'
    } catch (thrown) {
      client.end().catch(() => {})
      throw thrown
    }
  }

  const watch = (client: Client): void => {
    const checks = setInterval(() => {
      client.query('select 1').catch(() => client.end().catch(() => {}))
    }, CHECK_MS).unref()
    client.once('end', () => {
      clearInterval(checks)
      if (!released) void reacquire()
    })
  }

  const reacquire = async (): Promise<void> => {
    while (!released) {
      const result = await tryLock().catch((thrown: unknown) => {
        log.debug({ code: codeOf(thrown), name }, 'store lock unavailable; retrying')
        return 'retry' as const
      })
      if (result === 'held by another') return onLocked()
      if (result === 'acquired') {
        if (released) await holder?.end()
        return
      }
      await setTimeout(RETRY_MS, undefined, { ref: false })
    }
  }

  try {
    for (const deadline = performance.now() + timeout; (await tryLock()) !== 'acquired'; ) {
      if (performance.now() > deadline) return undefined
      await setTimeout(RETRY_MS)
    }
  } catch (thrown) {
    throw fromPostgres(thrown)
  }
  return {
    release: async () => {
      released = true
      await holder?.end().catch(() => {})
    },
  }
}
