import type { Test } from 'tap'
import { aLog, NOW } from '../store/kit.ts'
import type { OpenStore } from './store-contract.ts'

const DAY = 24 * 60 * 60_000
const consumer = { kind: 'consumer', name: 'siem/export' } as const
const job = { kind: 'job', name: 'siem/export' } as const
const times = (now: number) => ({ now, purgeBefore: now - 30 * DAY })
const run = { outcome: 'ok', started_at: NOW, duration: 5, release: false } as const

export const storeTasks = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('a consumer starts at the newest or the first log, and keeps its position', async (t) => {
    const { tasks, logs } = await open(t)
    await logs.ingest([aLog(0), aLog(1, { tenant_id: 'tenant-b' })])
    const { newest } = await tasks.state()
    const late = { ...consumer, name: 'siem/late' }
    const declared = [{ ...consumer, from: 'start' } as const, { ...late, from: 'now' } as const, job]
    await tasks.register(declared, times(NOW))
    await logs.ingest([aLog(2)])
    await tasks.register(declared, times(NOW + 1))
    const positions = (await tasks.state()).tasks.map(({ kind, name, position }) => [kind, name, position])
    t.strictSame(positions.sort(), [
      ['consumer', 'siem/export', 0],
      ['consumer', 'siem/late', newest],
      ['job', 'siem/export', 0],
    ])
    t.strictSame(
      (await logs.after(0)).map(({ message, seq }) => [message, seq <= newest]),
      [
        ['Card retrieved', true],
        ['Card retrieved', true],
        ['Card retrieved', false],
      ],
      'logs of all tenants',
    )
    t.equal(await logs.createdAfter(newest), NOW + 2)
    t.equal(await logs.createdAfter((await tasks.state()).newest), undefined)
  })

  await t.test('what no process has had for 30 days is removed, unless it is back', async (t) => {
    const { tasks } = await open(t)
    await tasks.register([consumer, job], times(NOW))
    await tasks.register([job], times(NOW + 29 * DAY))
    t.equal((await tasks.state()).tasks.length, 2)
    await tasks.register([job], times(NOW + 60 * DAY))
    t.strictSame(
      (await tasks.state()).tasks.map(({ kind }) => kind),
      ['job'],
    )
    await tasks.register([job], times(NOW + 91 * DAY))
    t.equal((await tasks.state()).tasks.length, 1, 'the whole service was stopped')
  })

  await t.test('of several processes one gets a lease, until it ends or is released', async (t) => {
    const { tasks } = await open(t)
    await tasks.register([consumer], times(NOW))
    const acquire = async (holder: string, now: number, lease_number?: number) => {
      const row = (await tasks.state()).tasks[0]!
      return tasks.acquire(
        { ...consumer, lease_number: lease_number ?? row.lease_number },
        { holder, now, until: now + 30 },
      )
    }
    const acquired = await Promise.all(['a', 'b', 'c', 'd'].map((holder) => acquire(holder, NOW, 0)))
    t.equal(acquired.filter((row) => row !== undefined).length, 1)
    const first = acquired.find((row) => row !== undefined)!
    t.match(first, { lease_number: 1, leased_until: NOW + 30, started_at: null })
    t.equal(await acquire('e', NOW + 29), undefined)
    t.strictSame(await tasks.renew([first, { ...first, lease_number: 0 }], NOW + 60), [true, false])
    t.equal(await acquire('e', NOW + 59), undefined)
    t.equal(await acquire('e', NOW + 60, 0), undefined, 'the state was read before the last lease')
    const second = await acquire('e', NOW + 60)
    t.match(second, { lease_number: 2, holder: 'e' })
    t.strictSame(await tasks.renew([first], NOW + 90), [false])
    await tasks.release(first.holder!)
    t.equal(await acquire('f', NOW + 61), undefined, 'a former holder releases nothing')
    await tasks.release('e')
    t.match(await acquire('f', NOW + 61), { lease_number: 3 })
    await tasks.release('f')
    t.strictSame(await tasks.renew([{ ...first, lease_number: 3 }], NOW + 90), [false], 'nor renews')
  })

  await t.test('a position is written under the newest lease only', async (t) => {
    const { tasks } = await open(t)
    await tasks.register([consumer], times(NOW))
    const lease = { holder: 'a', now: NOW, until: NOW + 30 }
    const first = (await tasks.acquire({ ...consumer, lease_number: 0 }, lease))!
    t.equal(await tasks.settle(first, { ...run, position: 7 }), true)
    t.equal(await tasks.settle(first, { ...run, outcome: 'failed' }), true)
    const { position, outcome } = (await tasks.state()).tasks[0]!
    t.strictSame({ position, outcome }, { position: 7, outcome: 'failed' }, 'a failure keeps the position')
    const second = await tasks.acquire(
      { ...consumer, lease_number: 1 },
      { holder: 'b', now: NOW + 30, until: NOW + 60 },
    )
    t.equal(second?.position, 7)
    t.equal(await tasks.settle(first, { ...run, position: 9 }), false)
    t.equal((await tasks.state()).tasks[0]?.position, 7)
  })

  await t.test('the lease of a job starts and ends with its run', async (t) => {
    const { tasks } = await open(t)
    await tasks.register([job], times(NOW))
    const row = (await tasks.acquire(
      { ...job, lease_number: 0 },
      { holder: 'a', now: NOW, until: NOW + 30 },
    ))!
    t.match(row, { started_at: NOW, outcome: null, duration: null })
    t.equal(await tasks.settle(row, { ...run, outcome: 'failed', release: true }), true)
    t.match((await tasks.state()).tasks[0], {
      outcome: 'failed',
      duration: 5,
      holder: null,
      leased_until: 0,
      started_at: NOW,
    })
    t.match(
      await tasks.acquire({ ...job, lease_number: 1 }, { holder: 'b', now: NOW + 9, until: NOW + 30 }),
      {
        started_at: NOW + 9,
        outcome: null,
        duration: null,
      },
    )
  })

  await t.test('logs of concurrent ingests appear in the order of their numbers', async (t) => {
    const { logs, tasks } = await open(t)
    let isDone = false
    const ingests = Promise.all(
      ['a', 'b', 'c'].map(async (journal) => {
        for (let seq = 0; seq < 60; seq += 3)
          await logs.ingest(
            [0, 1, 2].map((next) => aLog(seq + next, { journal, message: `${journal}${seq + next}` })),
          )
      }),
    ).finally(() => {
      isDone = true
    })
    const read: string[] = []
    for (let position = 0; ; ) {
      const done = isDone
      const rows = await logs.after(position)
      read.push(...rows.map(({ message }) => message))
      position = rows.at(-1)?.seq ?? position
      if (done && position === (await tasks.state()).newest) break
    }
    await ingests
    t.equal(read.length, 180)
    t.equal(new Set(read).size, 180, 'a reader that follows skips none')
  })
}
