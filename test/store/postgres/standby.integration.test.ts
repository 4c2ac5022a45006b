import t from 'tap'
import { postgresMissing, queryPostgres, startStandby } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { until } from '../../supervisor/processes.ts'
import { aToken, NOW } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

t.test('a primary and its standby', { skip: postgresMissing({ own: true }) }, async (t) => {
  const primary = await aServer(t, { own: true, durable: true })
  const address = await newVaultDatabase(primary)
  const standby = await startStandby(primary, 'second', { durable: true })
  t.teardown(() => standby.close())
  const there = new URL(standby.admin)
  Object.assign(there, {
    username: 'sidevault_test',
    password: 'sidevault_test',
    pathname: new URL(address).pathname,
  })
  const ask = <R extends object>(server: { readonly admin: string }, text: string) =>
    queryPostgres<R>(server.admin, text)
  await until('the standby follows', async () => {
    const rows = await ask<{ state: string }>(primary, 'select state from pg_stat_replication')
    return rows[0]?.state === 'streaming'
  })
  const changed = async (name: string, value: string) => {
    await ask(primary, `alter system set ${name} = '${value}'`)
    await ask(primary, 'select pg_reload_conf()')
    await until('the setting holds', async () => {
      const [row] = await ask<Record<string, string>>(primary, `show ${name}`)
      return row?.[name] === value
    })
  }

  await t.test('a standby, which may lag, is rejected as a store', async (t) => {
    for (const mode of ['read-write', 'join', 'read-only'] as const)
      await t.rejects(aStore(t, there.href, { mode, timeout: 0 }), {
        code: 'gateway_timeout',
        message: /\(standby\).*to the primary/,
      })
  })

  await t.test('a write not confirmed by the synchronous standby is not acknowledged', async (t) => {
    await changed('synchronous_standby_names', 'second')
    const store = await aStore(t, address)
    const one = aToken()
    await store.tokens.create([one], NOW)
    await standby.kill()
    const uncertain = { code: 'gateway_timeout', uncertain: true }
    const other = aToken()
    const writes: (() => Promise<unknown>)[] = [
      () => store.tokens.create([other], NOW),
      () => store.tokens.delete('tenant-a', one.id, NOW),
    ]
    for (const write of writes) {
      const rejected = t.rejects(write, uncertain)
      const waiting = "from pg_stat_activity where wait_event = 'SyncRep'"
      await until('it waits', async () => (await ask(primary, `select pid ${waiting}`)).length === 1)
      // As operators do when nothing moves; the server then says that all is well, and warns.
      await ask(primary, `select pg_cancel_backend(pid) ${waiting}`)
      await rejected
    }
    t.strictSame(
      (await store.tokens.read('tenant-a', [one.id, other.id], NOW)).map(({ id }) => id),
      [other.id],
      'it holds as long as the primary does',
    )
    await standby.start()
    await until('writes are confirmed again', () =>
      store.tokens.create([aToken()], NOW).then(
        () => true,
        () => false,
      ),
    )
  })
})
