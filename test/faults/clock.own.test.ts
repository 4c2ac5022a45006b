import { randomUUID } from 'node:crypto'
import t from 'tap'
import { journalsHold } from '../kit/journals.ts'
import { ALL_TOKEN_PERMISSIONS, startSidevault } from '../kit/sidevault.ts'
import { until } from '../supervisor/processes.ts'
import { createShiftedClock, HOUR } from './shifted-clock.ts'

const TIMEOUT = 120_000

t.test('a clock that jumps by hours, forward and back, affects only what has expired by it', async (t) => {
  const clock = createShiftedClock(t)
  const sidevault = await startSidevault({
    env: { ...clock.env, SIDEVAULT_RATE_LIMIT_PER_KEY: '60000', SIDEVAULT_LOG_LEVEL: 'warn' },
  })
  t.teardown(() => sidevault.stop())
  const key = await sidevault.application({ permissions: ALL_TOKEN_PERMISSIONS })
  const create = (body: object, idempotency?: string) =>
    sidevault.call('POST', '/tokens', {
      key,
      body,
      ...(idempotency === undefined ? {} : { headers: { 'svc-idempotency-key': idempotency } }),
    })
  const read = async (id: string) => (await sidevault.call('GET', `/tokens/${id}`, { key })).status
  const disclose = (id: string) =>
    sidevault.call('POST', '/proxy', {
      key,
      headers: { 'svc-proxy-url': 'https://demo.sidevault.test' },
      body: { v: `{{ ${id} }}` },
    })
  const newest = async (): Promise<string> =>
    (await sidevault.call('GET', '/v2/tokens?size=1', { key })).json.data[0].id

  const probe: string = (await create({ data: 'probe' })).json.id
  /** Jumps, and waits until the admin and the gateway go by it. */
  const jump = async (ms: number): Promise<void> => {
    await clock.jump(ms, create, TIMEOUT)
    // A caller from before the clock moved back may have to wait for a moment.
    await until('calls are let through', async () => (await disclose(probe)).status === 200, TIMEOUT)
  }
  /** Everything that goes on under any clock. */
  const goesOn = async (what: string): Promise<string> => {
    const created = await create({ data: what })
    t.equal(created.status, 201, `${what}: a create`)
    t.equal(await newest(), created.json.id, `${what}: the newest one is first in lists`)
    const shown = await disclose(created.json.id)
    t.equal(shown.status, 200, `${what}: a disclosure`)
    t.match(shown.text, what)
    await until(
      'the logs report it',
      async () => {
        const path = `/logs?entity_id=${created.json.id}`
        const { json } = await sidevault.call('GET', path, { key: sidevault.managementKey })
        return json?.data?.length >= 2
      },
      TIMEOUT,
    )
    return created.json.id
  }

  const forGood = await goesOn('now')
  const inAnHour = new Date(Date.now() + HOUR).toISOString()
  const expiring = (await create({ data: 'for an hour', expires_at: inAnHour })).json.id
  const idempotency = randomUUID()
  const first = (await create({ data: 'once' }, idempotency)).json.id

  await jump(2 * HOUR)
  const later = await goesOn('two hours later')
  t.equal(await read(expiring), 404, 'what has expired by the clock is gone')
  t.equal(await read(forGood), 200)
  t.equal((await create({ data: 'once' }, idempotency)).json.id, first, 'a response that is stored for a day')

  await jump(-3 * HOUR)
  const earlier = await goesOn('three hours ago')
  for (const id of [forGood, later, earlier, first]) t.equal(await read(id), 200, 'nothing is lost')
  t.equal((await create({ data: 'once' }, idempotency)).json.id, first)
  const calls = await Promise.all(Array.from({ length: 40 }, () => read(forGood)))
  t.strictSame([...new Set(calls)], [200], 'no limit holds for hours')

  await jump(0)
  await goesOn('now again')
  for (const id of [forGood, later, earlier, first]) t.equal(await read(id), 200)
  journalsHold(t, sidevault.dataDir)
})
