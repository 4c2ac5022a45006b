import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { AppError } from '../../../src/common/errors.ts'
import type { Store } from '../../../src/store/store.ts'
import { postgresMissing, queryPostgres } from '../../kit/postgres.ts'
import { newVaultDatabase } from '../../kit/test-store.ts'
import { aToken, NOW } from '../kit.ts'
import { aServer, aStore } from './kit.ts'

const LANES = 12

/** Outcomes of creates, by id. */
interface Outcomes {
  readonly retained: string[]
  /** Rejected: nothing was written. */
  readonly rejected: string[]
  /** The outcome is unknown. */
  readonly unknown: string[]
}

/** Creates tokens, with metadata, in lanes until `done`. */
const load = async (store: Store, t: Test, done: Promise<unknown>): Promise<Outcomes> => {
  const outcomes: Outcomes = { retained: [], rejected: [], unknown: [] }
  const codes = new Set<string>()
  let running = true
  const lane = async (): Promise<void> => {
    while (running) {
      const token = aToken({ container: '/load/', metadata: { of: 'load' } })
      try {
        await store.tokens.create([token], NOW)
        outcomes.retained.push(token.id)
      } catch (thrown) {
        if (!(thrown instanceof AppError)) throw thrown
        codes.add(thrown.code)
        outcomes[thrown.uncertain ? 'unknown' : 'rejected'].push(token.id)
        await delay(20)
      }
    }
  }
  const lanes = Array.from({ length: LANES }, lane)
  try {
    await done
  } finally {
    running = false
    await Promise.all(lanes)
  }
  t.strictSame(
    [...codes].filter((code) => code !== 'overloaded' && code !== 'gateway_timeout'),
    [],
  )
  return outcomes
}

t.test('PostgreSQL under load', { skip: postgresMissing({ own: true }) }, async (t) => {
  const server = await aServer(t, { own: true, durable: true })
  const address = await newVaultDatabase(server)
  const store = await aStore(t, address)
  const superuser = new URL(server.admin)
  superuser.pathname = new URL(address).pathname
  const ask = <R extends object>(text: string) => queryPostgres<R>(superuser.href, text)

  /** Retries until it succeeds, for a minute. */
  const works = async (t: Test, what: string, work: () => Promise<unknown>): Promise<void> => {
    for (let left = 1_200; left > 0; left--) {
      if (
        await work().then(
          () => true,
          () => false,
        )
      ) {
        t.pass(what)
        return
      }
      await delay(50)
    }
    t.fail(what)
  }

  /** Acknowledged tokens exist, rejected ones do not, and every count is that of the rows. */
  const isConsistent = async (t: Test, { retained, rejected, unknown }: Outcomes): Promise<void> => {
    t.comment(`${retained.length} retained, ${rejected.length} rejected, ${unknown.length} unknown`)
    const there = new Set((await ask<{ id: string }>('select id from tokens')).map(({ id }) => id))
    t.strictSame(
      retained.filter((id) => !there.has(id)),
      [],
      'nothing that was acknowledged is lost',
    )
    t.strictSame(
      rejected.filter((id) => there.has(id)),
      [],
      'nothing that was rejected was written',
    )
    const [sums] = await ask(`select (select count(*) from tokens) as tokens,
      (select sum(count) from token_counts) as counted,
      (select count(*) from token_metadata) as entries`)
    const { tokens } = sums as { tokens: string }
    t.strictSame({ ...sums }, { tokens, counted: tokens, entries: tokens })
  }

  const ours = "from pg_stat_activity where application_name = 'sidevault'"

  await t.test('connections cut at random fail some calls, and leave nothing partial', async (t) => {
    const cutting = async (): Promise<void> => {
      for (let turn = 0; turn < 40; turn++) {
        await ask(
          `select pg_terminate_backend(pid) from (select pid ${ours} order by random() limit 2) as victims`,
        )
        await delay(25)
      }
    }
    const outcomes = await load(store, t, cutting())
    await works(t, 'writes again', () => store.tokens.create([aToken({ metadata: { of: 'load' } })], NOW))
    t.ok(outcomes.retained.length > 0, 'some were retained concurrently')
    await isConsistent(t, outcomes)
  })

  await t.test('a server that is killed and restarted has all acknowledged writes', async (t) => {
    const restart = async (): Promise<void> => {
      await delay(300)
      await server.kill()
      await delay(300)
      await server.start()
      await delay(300)
    }
    const outcomes = await load(store, t, restart())
    await works(t, 'writes again', () => store.tokens.create([aToken({ metadata: { of: 'load' } })], NOW))
    t.ok(outcomes.rejected.length + outcomes.unknown.length > 0, 'some came while the server was down')
    await isConsistent(t, outcomes)
  })

  await t.test('a read-only server, as after a failover, rejects writes and serves reads', async (t) => {
    const [before] = await ask<{ count: string }>('select count(*) from tokens')
    const turn = async (how: 'on' | 'off'): Promise<void> => {
      const name = superuser.pathname.slice(1)
      await ask(`alter database ${name} set default_transaction_read_only = ${how}`)
      await queryPostgres(server.admin, `select pg_terminate_backend(pid) ${ours}`)
    }
    await turn('on')
    const id = (await ask<{ id: string }>('select id from tokens limit 1'))[0]?.id as string
    await works(t, 'reads', async () => store.tokens.read('tenant-a', [id], NOW))
    const readOnly = { code: 'overloaded', message: /read-only at the moment; nothing was written/ }
    await t.rejects(store.tokens.create([aToken()], NOW), readOnly)
    await t.rejects(store.tokens.delete('tenant-a', id, NOW), readOnly)
    t.strictSame(await ask('select count(*) from tokens'), [before])
    await queryPostgres(
      server.admin,
      `alter database ${superuser.pathname.slice(1)} reset default_transaction_read_only`,
    )
    await queryPostgres(server.admin, `select pg_terminate_backend(pid) ${ours}`)
    await works(t, 'writes again', () => store.tokens.create([aToken()], NOW))
  })
})
