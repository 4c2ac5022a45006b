import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLog } from '../../src/common/log.ts'
import { openStore } from '../../src/store/open.ts'
import { type PostgresServer, queryPostgres, startPostgres } from './postgres.ts'
import { atProcessEnd } from './process-end.ts'

const templates = new WeakMap<PostgresServer, Promise<string>>()

/** Address of a new database with the tables of this version: a copy, for making them takes longer. */
export const newVaultDatabase = async (server: PostgresServer): Promise<string> => {
  let template = templates.get(server)
  if (template === undefined) {
    template = server.database().then(async (location) => {
      const log = createLog('test', 'silent')
      await (await openStore({ location, mode: 'read-write', log })).close()
      return location
    })
    templates.set(server, template)
  }
  return server.database(await template)
}

let server: Promise<PostgresServer> | undefined

const database = async (): Promise<string> => {
  if (server === undefined) {
    server = startPostgres()
    atProcessEnd(async () => (await server)?.close())
  }
  return newVaultDatabase(await server)
}

/**
 * Where the store of a test service is: a SQLite file in its directory, or with `SPEC_STORE=postgres` a database of a
 * server that lasts as long as the test process.
 */
export const newStoreLocation = async (directory: string): Promise<string> =>
  process.env.SPEC_STORE === 'postgres' ? database() : join(directory, 'vault.db')

const rowsOf = async (location: string): Promise<readonly string[]> => {
  // Of the superuser: the owner meets no row of a tenant that it does not name.
  const admin = new URL((await server)?.admin ?? '')
  admin.pathname = new URL(location).pathname
  const tables = await queryPostgres<{ name: string }>(
    admin.href,
    "select tablename as name from pg_tables where schemaname = 'public'",
  )
  const texts: string[] = []
  for (const { name } of tables)
    for (const row of await queryPostgres<Record<string, unknown>>(admin.href, `select * from "${name}"`))
      texts.push(
        Object.values(row)
          .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)))
          .join('\n'),
      )
  return texts
}

/** Everything that a store keeps on disk, byte by byte. */
export const textAtRest = async (location: string): Promise<readonly string[]> =>
  location.startsWith('postgres:')
    ? rowsOf(location)
    : ['', '-wal'].map((end) => readFileSync(location + end, 'latin1'))
