import { join } from 'node:path'
import type { Test } from 'tap'
import { rememberChecks } from '../kit/checked.ts'
import { type Destination, startDestination } from '../kit/destination.ts'
import { directoryFor } from '../kit/directory.ts'
import { startLocalNetwork } from '../kit/local-network.ts'
import { type PostgresServer, startPostgres } from '../kit/postgres.ts'
import { startRedis, type TestRedis } from '../kit/redis.ts'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'

const HOST = 'destination.faults.test'
const ROOT_KEY = Buffer.alloc(32, 7).toString('base64')

export interface FaultWorld {
  /** Whole programs over one PostgreSQL and one Redis, each with a data directory of its own. */
  readonly replicas: readonly Sidevault[]
  readonly dataDirs: readonly string[]
  /** The server that was theirs at first. */
  readonly postgres: PostgresServer
  /** The database there, as its superuser. */
  readonly database: string
  readonly redis: TestRedis
  readonly destination: Destination
  readonly destinationUrl: string
  /** Settings of every replica. */
  readonly env: Readonly<Record<string, string>>
}

interface FaultOptions {
  /** Replicas; default: three. */
  readonly count?: number
  /** Settings of one replica alone. */
  readonly envOf?: (index: number) => Readonly<Record<string, string>>
  /** Where replicas find the database with this address; default: there. */
  readonly reach?: (postgres: PostgresServer, address: string) => Promise<string>
}

/** Replicas, what they share, and a real TLS destination that remembers what it received. */
export const startFaultWorld = async (
  t: Test,
  { count = 3, envOf = () => ({}), reach = async (_, address) => address }: FaultOptions = {},
): Promise<FaultWorld> => {
  const directory = directoryFor(t)
  const postgres = await startPostgres({ own: true, durable: true })
  t.teardown(() => postgres.close())
  const address = await postgres.database()
  const redis = await startRedis(t)
  const { certificate, ...network } = await startLocalNetwork(t, [HOST])
  const destination = await startDestination(certificate)
  t.teardown(() => destination.close())
  const env = {
    SIDEVAULT_STORE: await reach(postgres, address),
    SIDEVAULT_REDIS_URL: redis.url,
    SIDEVAULT_ROOT_KEY: 'env:FAULTS_ROOT_KEY',
    FAULTS_ROOT_KEY: ROOT_KEY,
    ...network.env,
    SIDEVAULT_LOG_LEVEL: 'warn',
  }
  const dataDirs = Array.from({ length: count }, (_, index) => join(directory, `replica-${index}`))
  const replicas: Sidevault[] = []
  for (const [index, dataDir] of dataDirs.entries()) {
    rememberChecks(dataDir)
    const replica = await startSidevault({ dataDir, env: { ...env, ...envOf(index) } })
    replicas.push(replica)
    t.teardown(() => replica.stop())
  }
  const superuser = new URL(postgres.admin)
  superuser.pathname = new URL(address).pathname
  return {
    replicas,
    dataDirs,
    postgres,
    database: superuser.href,
    redis,
    destination,
    destinationUrl: `https://${HOST}:${destination.port}`,
    env,
  }
}
