import type { Test } from 'tap'
import { type PostgresServer, queryPostgres, startStandby } from '../kit/postgres.ts'
import type { Sidevault } from '../kit/sidevault.ts'
import { descendants, until } from '../supervisor/processes.ts'
import { startLoad } from './load.ts'
import type { FaultWorld } from './world.ts'

const TIMEOUT = 120_000

const processesOf = ({ pid }: Sidevault) =>
  descendants(pid)
    .filter(({ command }) => /^sidevault: (admin|gateway)/.test(command))
    .map((process) => process.pid)
    .sort()

/** A standby is promoted for a killed primary, under load. */
export const checkFailover = async (t: Test, world: FaultWorld): Promise<void> => {
  const { replicas, postgres: primary, destination, line } = world
  destination.received.length = 0
  const standby: PostgresServer = await startStandby(primary, 'second', { durable: true })
  t.teardown(() => standby.close())
  await queryPostgres(primary.admin, "alter system set synchronous_standby_names = 'second'")
  await queryPostgres(primary.admin, 'select pg_reload_conf()')
  await until('the standby confirms', async () => {
    const sql = 'select sync_state from pg_stat_replication'
    return (await queryPostgres<{ sync_state: string }>(primary.admin, sql))[0]?.sync_state === 'sync'
  })
  const processes = replicas.map(processesOf)
  const load = await startLoad(world)
  t.teardown(load.stop)
  const acknowledged = () => load.creates.flatMap(({ id }) => (id === undefined ? [] : [id]))
  const allWork = () =>
    Promise.all(replicas.map((replica) => until('it works', () => load.works(replica), TIMEOUT)))
  await allWork()
  await until('creates are acknowledged', () => acknowledged().length > 5, TIMEOUT)

  await primary.kill()
  line.lead(standby)
  const first = replicas[0] as Sidevault
  // Calls in between have no server to ask: a standby that may lag does not know what is in force.
  await until(
    'it rejects with the reason',
    async () => {
      const { status, text } = await first.call('POST', '/tokens', { key: load.key, body: { data: 'x' } })
      return status === 503 && /standby at the moment/.test(text)
    },
    TIMEOUT,
  )
  t.match(await first.call('GET', '/readyz'), { status: 503, text: /store/ })
  const before = acknowledged().length
  await queryPostgres(standby.admin, 'select pg_promote()')
  await allWork()
  for (const replica of replicas)
    await until('it is ready', async () => (await replica.call('GET', '/readyz')).status === 200, TIMEOUT)
  await until('creates are acknowledged again', () => acknowledged().length > before + 5, TIMEOUT)
  await load.stop()
  t.comment(`${load.sent.size} proxied calls, ${acknowledged().length} creates acknowledged`)
  t.comment(`rejected in the meantime: ${JSON.stringify(Object.fromEntries(load.rejected))}`)
  t.same(load.violations, [], 'nothing failed but as the table of errors says, and nothing hung')
  t.strictSame(replicas.map(processesOf), processes, 'no process restarted')

  const lost = []
  for (const id of acknowledged())
    if ((await first.call('GET', `/tokens/${id}`, { key: load.key })).status !== 200) lost.push(id)
  t.strictSame(lost, [], 'every acknowledged token is there')
  const database = new URL(standby.admin)
  database.pathname = new URL(world.database).pathname
  const doubled = await queryPostgres(
    database.href,
    `select value from token_metadata where key = 'unique' group by value having count(*) > 1`,
  )
  t.strictSame([...doubled], [], 'no idempotent create took effect twice')

  // Revoked on one replica, over the new primary: the word of a change and the counters are those of that server.
  const other = replicas[1] as Sidevault
  const created = await first.call('POST', '/applications', {
    key: first.managementKey,
    body: { name: 'short', type: 'private', permissions: ['token:read'] },
  })
  const [id] = acknowledged()
  const reads = () => other.call('GET', `/tokens/${id}`, { key: created.json.key })
  t.equal((await reads()).status, 200)
  const path = `/applications/${created.json.id}`
  await first.call('DELETE', path, { key: first.managementKey })
  await until('the key is dead on the other replica', async () => (await reads()).status === 401)

  const traces = destination.received.flatMap(({ body }) =>
    body === undefined ? [] : [JSON.parse(String(body)).trace as string],
  )
  t.ok(traces.length > 10)
  await until(
    'every disclosure has its record',
    async () => {
      const sql = 'select distinct trace_id from logs where trace_id = any($1)'
      return (await queryPostgres(database.href, sql, [traces])).length === traces.length
    },
    TIMEOUT,
  )
  world.journalsHold(t, standby)
}
