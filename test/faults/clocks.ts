import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { queryPostgres } from '../kit/postgres.ts'
import { ALL_TOKEN_PERMISSIONS, type Sidevault } from '../kit/sidevault.ts'
import { until } from '../supervisor/processes.ts'
import { HOUR, type ShiftedClock } from './shifted-clock.ts'
import type { FaultWorld } from './world.ts'

const TIMEOUT = 120_000

/** Every kind of call while the clock of the second replica is off by an hour. */
export const checkClocks = async (t: Test, world: FaultWorld, clock: ShiftedClock): Promise<void> => {
  const [steady, jumping] = world.replicas as readonly [Sidevault, Sidevault]
  const both = [steady, jumping] as const
  const permissions = ALL_TOKEN_PERMISSIONS
  const key = await steady.application({ permissions })
  const publicKey = await steady.application({ permissions: ['token:create'] }, 'public')
  const create = (replica: Sidevault, body: object, idempotency?: string) =>
    replica.call('POST', '/tokens', {
      key,
      body,
      ...(idempotency === undefined ? {} : { headers: { 'svc-idempotency-key': idempotency } }),
    })
  const read = async (replica: Sidevault, id: string) =>
    (await replica.call('GET', `/tokens/${id}`, { key })).status
  const disclose = (replica: Sidevault, id: string) =>
    replica.call('POST', '/proxy', {
      key,
      headers: { 'svc-proxy-url': world.destinationUrl },
      body: { v: `{{ ${id} }}` },
    })
  const jump = (ms: number) => clock.jump(ms, (body) => create(jumping, body), TIMEOUT)

  const retained: string[] = []
  const firsts = new Map<string, string>()
  /** Checks every kind of call while the clocks differ. */
  const checkAll = async (what: string): Promise<void> => {
    for (const replica of both) {
      const created = await create(replica, { data: what })
      t.equal(created.status, 201, what)
      retained.push(created.json.id)
      for (const reader of both) t.equal(await read(reader, created.json.id), 200, what)
      const shown = await disclose(replica, created.json.id)
      t.equal(shown.status, 200, `${what}: ${shown.text}`)
    }
    const calls = await Promise.all(
      both.flatMap((replica) => Array.from({ length: 20 }, () => read(replica, retained[0] as string))),
    )
    t.strictSame([...new Set(calls)], [200], `${what}: no call waits for a limit`)

    // The same request on both at once: whose lease is over by whose clock must not matter.
    const keys = Array.from({ length: 6 }, () => randomUUID())
    for (const idempotency of keys) {
      const body = { data: 'once', metadata: { unique: idempotency } }
      const responses = await Promise.all(both.map((replica) => create(replica, body, idempotency)))
      const ids = new Set(responses.filter(({ status }) => status === 201).map(({ json }) => json.id))
      t.equal(ids.size, 1, `${what}: ${responses.map(({ status, text }) => `${status} ${text}`).join('\n')}`)
      for (const { status } of responses) if (status !== 201) t.equal(status, 409)
      firsts.set(idempotency, [...ids][0])
    }
    for (const [idempotency, id] of firsts)
      for (const replica of both) {
        const body = { data: 'once', metadata: { unique: idempotency } }
        t.equal((await create(replica, body, idempotency)).json.id, id, `${what}: the first response`)
      }

    for (const maker of both) {
      const session = (await maker.call('POST', '/sessions', { key: publicKey, body: {} })).json
      const authorize = (replica: Sidevault) =>
        replica.call('POST', '/sessions/authorize', {
          key,
          body: { nonce: session.nonce, permissions: ['token:create'] },
        })
      const responses = (await Promise.all([...both, ...both].map(authorize))).map(({ status }) => status)
      t.ok(
        responses.filter((status) => status < 300).length <= 1,
        `${what}: a nonce is used once: ${responses}`,
      )
      t.ok(
        responses.every((status) => [200, 204, 404, 409].includes(status)),
        `${what}: ${responses}`,
      )
      t.ok((await authorize(steady)).status >= 400, 'not later either')
    }

    const { key: short, id } = (
      await jumping.call('POST', '/applications', {
        key: jumping.managementKey,
        body: { name: 'short', type: 'private', permissions },
      })
    ).json
    const uses = async (replica: Sidevault) =>
      (await replica.call('GET', `/tokens/${retained[0]}`, { key: short })).status
    for (const replica of both) t.equal(await uses(replica), 200, `${what}: a new key`)
    await jumping.call('DELETE', `/applications/${id}`, { key: jumping.managementKey })
    for (const replica of both)
      await until('a deleted key is dead', async () => (await uses(replica)) === 401)
  }

  await checkAll('one time')
  const expires_at = new Date(Date.now() + HOUR / 2).toISOString()
  const expiring: string = (await create(steady, { data: 'for half an hour', expires_at })).json.id

  await jump(HOUR)
  await checkAll('one is an hour ahead')
  t.equal(await read(steady, expiring), 200, 'each goes by its own clock')
  t.equal(await read(jumping, expiring), 404)
  const printed = jumping.stderr().length
  await until(
    'the one ahead has removed what is over',
    async () => {
      const soon = new Date(Date.now() + 500).toISOString()
      await create(steady, { data: 'for a moment', expires_at: soon })
      await delay(200)
      return jumping.stderr().includes('expired rows removed', printed)
    },
    TIMEOUT,
  )
  await jump(-HOUR)
  await checkAll('one is an hour behind')
  await jump(0)
  await checkAll('one time again')
  for (const replica of both) {
    t.equal(await read(replica, expiring), 200, 'what was over by one clock only is not lost')
    for (const id of retained) t.equal(await read(replica, id), 200, 'nothing is lost')
  }

  const ask = <R extends object>(sql: string) => queryPostgres<R>(world.database, sql)
  const twice = `select value from token_metadata where key = 'unique' group by value having count(*) > 1`
  t.strictSame([...(await ask(twice))], [], 'no idempotent create took effect twice')
  const [sums] = await ask(`select (select count(*) from tokens) as tokens,
    (select sum(count) from token_counts) as counted`)
  const { tokens } = sums as { tokens: string }
  t.strictSame({ ...sums }, { tokens, counted: tokens }, 'kept totals are those of the rows')
  world.journalsHold(t)
}
