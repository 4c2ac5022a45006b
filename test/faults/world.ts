import { join } from 'node:path'
import type { Test } from 'tap'
import { rememberChecks } from '../kit/checked.ts'
import { type Destination, startDestination } from '../kit/destination.ts'
import { directoryFor } from '../kit/directory.ts'
import { journalsHold } from '../kit/journals.ts'
import { startLocalNetwork } from '../kit/local-network.ts'
import { type PostgresServer, startPostgres } from '../kit/postgres.ts'
import { startRedis, type TestRedis } from '../kit/redis.ts'
import { type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { type Line, startLine } from './line.ts'

const HOST = 'destination.faults.test'
const ROOT_KEY = Buffer.alloc(32, 7).toString('base64')

export interface FaultWorld {
  /** Whole programs over one PostgreSQL and one Redis, each with a data directory of its own. */
  readonly replicas: readonly Sidevault[]
  /** The server that was theirs at first. */
  readonly postgres: PostgresServer
  /** The database there, as its superuser. */
  readonly database: string
  readonly redis: TestRedis
  readonly destination: Destination
  readonly destinationUrl: string
  /** The way of the replicas to the database. */
  readonly line: Line
  /** Asserts that the audit journals of both hold; `server`: the one that is theirs by now. */
  journalsHold(t: Test, server?: PostgresServer): void
}

interface FaultOptions {
  /** Settings of one replica alone. */
  readonly envOf: (index: number) => Readonly<Record<string, string>>
}

/** Two replicas, what they share, and a real TLS destination that remembers what it received. */
export const startFaultWorld = async (t: Test, { envOf }: FaultOptions): Promise<FaultWorld> => {
  const directory = directoryFor(t)
  const postgres = await startPostgres({ own: true, durable: true })
  t.teardown(() => postgres.close())
  const address = new URL(await postgres.database())
  const line = await startLine(postgres)
  t.teardown(line.close)
  const reached = new URL(address)
  reached.host = `127.0.0.1:${line.port}`
  const redis = await startRedis(t)
  const { certificate, ...network } = await startLocalNetwork(t, [HOST])
  const destination = await startDestination(certificate)
  t.teardown(() => destination.close())
  const env = {
    SIDEVAULT_STORE: reached.href,
    SIDEVAULT_REDIS_URL: redis.url,
    SIDEVAULT_ROOT_KEY: 'env:FAULTS_ROOT_KEY',
    FAULTS_ROOT_KEY: ROOT_KEY,
    ...network.env,
    SIDEVAULT_LOG_LEVEL: 'warn',
  }
  const dataDirs = Array.from({ length: 2 }, (_, index) => join(directory, `replica-${index}`))
  const replicas: Sidevault[] = []
  for (const [index, dataDir] of dataDirs.entries()) {
    rememberChecks(dataDir)
    const replica = await startSidevault({ dataDir, env: { ...env, ...envOf(index) } })
    replicas.push(replica)
    t.teardown(() => replica.stop())
  }
  const superuser = new URL(postgres.admin)
  superuser.pathname = address.pathname
  return {
    replicas,
    postgres,
    database: superuser.href,
    redis,
    destination,
    destinationUrl: `https://${HOST}:${destination.port}`,
    line,
    journalsHold: (t, server = postgres) => {
      // The line is of this process, which waits for the command.
      const direct = new URL(address)
      direct.host = new URL(server.admin).host
      for (const dataDir of dataDirs) journalsHold(t, dataDir, { ...env, SIDEVAULT_STORE: direct.href })
    },
  }
}
