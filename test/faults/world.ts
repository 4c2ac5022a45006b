import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createAuthority } from '../kit/authority.ts'
import { rememberChecks } from '../kit/checked.ts'
import { type Destination, startDestination } from '../kit/destination.ts'
import { directoryFor } from '../kit/directory.ts'
import { startDns } from '../kit/dns.ts'
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

export interface FaultOptions {
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
  const authority = await createAuthority()
  const ca = join(directory, 'ca.pem')
  writeFileSync(ca, authority.pem)
  const destination = await startDestination(await authority.issue([HOST]))
  t.teardown(() => destination.close())
  const dns = await startDns()
  t.teardown(() => dns.close())
  dns.set(HOST, { a: ['127.0.0.1'], ttl: 60 })
  const env = {
    SIDEVAULT_STORE: await reach(postgres, address),
    SIDEVAULT_REDIS_URL: redis.url,
    SIDEVAULT_ROOT_KEY: 'env:FAULTS_ROOT_KEY',
    FAULTS_ROOT_KEY: ROOT_KEY,
    SIDEVAULT_EGRESS_ALLOW: '127.0.0.0/8',
    SIDEVAULT_EGRESS_PORTS: '*',
    SIDEVAULT_EGRESS_CA: ca,
    SIDEVAULT_EGRESS_DNS: `127.0.0.1:${dns.port}`,
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
