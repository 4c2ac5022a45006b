/** Settings of a session, whatever the defaults of its database or role. */
import t from 'tap'
import { withClient } from '../../../src/store/postgres/open.ts'
import { openPool, USUAL } from '../../../src/store/postgres/pool.ts'
import { postgresMissing, queryPostgres } from '../../kit/postgres.ts'
import { silent } from '../kit.ts'
import { aServer } from './kit.ts'

t.test('sessions of PostgreSQL', { skip: postgresMissing() }, async (t) => {
  const server = await aServer(t)
  const address = await server.database()
  const name = new URL(address).pathname.slice(1)
  const byDefault = (setting: string, value: string) =>
    queryPostgres(server.admin, `alter database ${name} set ${setting} = '${value}'`)

  for (const [before, during] of [
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'on'],
    ['on', 'on'],
    ['remote_apply', 'remote_apply'],
  ] as const)
    await t.test(`a commit is on disk where the default of synchronous_commit is ${before}`, async (t) => {
      await byDefault('synchronous_commit', before)
      const pool = openPool({ log: silent }, { address, size: 1, maxWaiting: 1, limits: USUAL })
      t.teardown(() => pool.close())
      const { rows } = await pool.use((client) =>
        client.query(`select setting, source from pg_settings where name = 'synchronous_commit'`),
      )
      t.strictSame(rows, [{ setting: during, source: 'session' }], 'no change of a default applies to it')
    })

  await t.test('a connection without limits has none of its role or database', async (t) => {
    const limits = [
      'statement_timeout',
      'lock_timeout',
      'idle_in_transaction_session_timeout',
      'idle_session_timeout',
    ]
    for (const limit of limits) await byDefault(limit, '5s')
    const { rows } = await withClient(address, (client) =>
      client.query('select setting from pg_settings where name = any($1)', [limits]),
    )
    t.strictSame(
      rows,
      limits.map(() => ({ setting: '0' })),
    )
  })
})
