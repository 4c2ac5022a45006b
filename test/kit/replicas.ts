import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Role } from '../../src/supervisor/messages.ts'
import { rememberChecks } from './checked.ts'
import { type PostgresServer, queryPostgres, startPostgres } from './postgres.ts'
import { startRedis, type TestRedis } from './redis.ts'
import { type Sidevault, startSidevault } from './sidevault.ts'

interface ReplicaOptions {
  readonly role?: Role
  /** Default: the Redis that the others use. */
  readonly redis?: 'none'
}

interface Replicas {
  readonly all: readonly Sidevault[]
  readonly redis: TestRedis
  readonly postgres: PostgresServer
  /** Ends the connections on which PostgreSQL notifies of changes; each replica makes another a second later. */
  deafen(): Promise<void>
  /** Environment of each replica. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * Whole programs over one PostgreSQL and one Redis, each with a data directory of its own, as on machines of their own.
 * They start at once; the first is to have an admin process.
 */
export const startReplicas = async (
  t: Test,
  options: readonly ReplicaOptions[],
  env: Readonly<Record<string, string>> = {},
): Promise<Replicas> => {
  const [postgres, redis] = await Promise.all([startPostgres({ own: true, durable: true }), startRedis(t)])
  t.teardown(() => postgres.close())
  const common = {
    SIDEVAULT_STORE: await postgres.database(),
    SIDEVAULT_ROOT_KEY: 'env:ROOT_KEY',
    ROOT_KEY: randomBytes(32).toString('base64'),
    ...env,
  }
  const directory = t.testdir()
  const all = await Promise.all(
    options.map(({ role = 'all', redis: which }, at) => {
      const dataDir = join(directory, `replica-${at}`)
      rememberChecks(dataDir)
      return startSidevault({
        role,
        dataDir,
        env: { ...common, ...(which === 'none' ? {} : { SIDEVAULT_REDIS_URL: redis.url }) },
      })
    }),
  )
  t.teardown(() => Promise.all(all.map((one) => one.stop())))
  const deafen = async (): Promise<void> => {
    const end = "select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen %'"
    await queryPostgres(postgres.admin, end)
  }
  return { all, redis, postgres, deafen, env: common }
}
