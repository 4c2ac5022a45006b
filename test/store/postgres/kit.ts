import type { Test } from 'tap'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { type PostgresOptions, type PostgresServer, startPostgres } from '../../kit/postgres.ts'
import { silent } from '../kit.ts'

/** A server until `t` ends. */
export const aServer = async (t: Test, options: PostgresOptions = {}): Promise<PostgresServer> => {
  const server = await startPostgres(options)
  t.teardown(() => server.close())
  return server
}

/** A store until `t` ends. */
export const aStore = async (
  t: Test,
  location: string,
  options: Partial<Pick<Parameters<typeof openStore>[0], 'mode' | 'timeout' | 'postgres'>> = {},
): Promise<Store> => {
  const store = await openStore({ location, mode: 'read-write', log: silent, ...options })
  t.teardown(() => store.close())
  return store
}
