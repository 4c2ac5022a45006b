import t from 'tap'
import { postgresMissing, queryPostgres, startPostgres } from './postgres.ts'

t.test('a real PostgreSQL', { skip: postgresMissing({ own: true }) }, async (t) => {
  const server = await startPostgres({ own: true })
  t.teardown(() => server.close())

  t.test('gives each test a database whose owner has no other privileges', async (t) => {
    const [one, other] = [await server.database(), await server.database()]
    await queryPostgres(one, 'create table things (id int)')
    t.strictSame(await queryPostgres(other, "select to_regclass('things') as there"), [{ there: null }])
    t.strictSame(
      await queryPostgres(
        one,
        'select rolsuper, rolbypassrls, rolcreatedb from pg_roles where rolname = current_user',
      ),
      [{ rolsuper: false, rolbypassrls: false, rolcreatedb: false }],
    )
  })

  t.test('orders texts by language by default', async (t) => {
    t.strictSame(await queryPostgres(await server.database(), "select 'a' < 'B' as sorted"), [
      { sorted: true },
    ])
  })

  t.test('recovers committed data after kill -9', async (t) => {
    const address = await server.database()
    await queryPostgres(address, 'create table things as select 1 as id')
    await server.kill()
    await t.rejects(queryPostgres(address, 'select 1'))
    await server.start()
    t.strictSame(await queryPostgres(address, 'select id from things'), [{ id: 1 }])
  })
})
