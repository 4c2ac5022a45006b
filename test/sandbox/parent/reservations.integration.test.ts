import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { duplexPair } from 'node:stream'
import t, { type Test } from 'tap'
import { createFrameReader, encodeFrame } from '../../../src/sandbox/frames.ts'
import type { Job } from '../../../src/sandbox/parent/job.ts'
import { Pool } from '../../../src/sandbox/parent/pool.ts'
import { createTrustTracker } from '../../../src/sandbox/parent/trust.ts'
import type { FromChild } from '../../../src/sandbox/protocol.ts'
import type { LimitName } from '../../../src/sandbox/types.ts'
import { silentLog } from '../../kit/egress.ts'

/** No process has this number. */
const PID = 2 ** 30
const turn = () => new Promise((done) => setImmediate(done))

interface FakeChild {
  /** Ids of the jobs that it was sent. */
  readonly ran: number[]
  report(...messages: FromChild[]): void
  exits(): void
}

/** A pool whose children are the test: all of them that were spawned, in order. */
const openPool = (t: Test, size: number) => {
  const children: FakeChild[] = []
  const trust = createTrustTracker({ now: () => 0 })
  const pool = new Pool(size, {
    log: silentLog(),
    now: () => 0,
    maxBytes: 1_000,
    oneTenantPerChild: false,
    trust,
    onChild: () => {},
    spawn: () => {
      const [ours, theirs] = duplexPair()
      const ran: number[] = []
      const process = Object.assign(new EventEmitter(), {
        pid: PID + children.length,
        kill: () => process.emit('close'),
      })
      const read = createFrameReader(1_000, ({ header }) => {
        const { kind, id } = header as { readonly kind: string; readonly id: number }
        if (kind === 'run') ran.push(id)
      })
      theirs.on('data', read)
      children.push({
        ran,
        report: (...messages) => {
          for (const message of messages) ours.emit('data', encodeFrame(message))
        },
        exits: () => process.emit('close'),
      })
      queueMicrotask(() => ours.emit('data', encodeFrame({ kind: 'ready' })))
      return { process: process as unknown as ChildProcess, stream: ours }
    },
  })
  t.teardown(() => pool.close())
  let ids = 0
  const submit = async (tenantId: string, key: string, repeatable = true) => {
    const limits: LimitName[] = []
    let over = false
    const id = ++ids
    const job: Job = {
      id,
      source: { tenantId, key, name: key, code: '', memoryMib: 64, resultBytes: 1, logLines: 1, logBytes: 1 },
      repeatable,
      get over() {
        return over
      },
      budgetMs: undefined,
      begin: (channel, quiet) =>
        channel.send({
          kind: 'run',
          id,
          key,
          tenantId,
          quiet,
          sdk: false,
          cpuMs: 1,
          wallMs: 1,
          syncCalls: 1,
          asyncCalls: 1,
        }),
      onCall: () => {},
      onEnded: () => {
        over = true
      },
      onChecked: () => {},
      fail: (limit) => {
        over = true
        limits.push(limit)
      },
    }
    pool.submit(job)
    await turn()
    return { id, limits }
  }
  return { children, trust, submit, last: () => children.at(-1) as FakeChild, pool }
}

const entering = (id: number, key: string): FromChild => ({ kind: 'entering', id, key, budgetMs: 1 })
const left = (id: number): FromChild => ({ kind: 'left', id })
const ended = (id: number): FromChild => ({
  kind: 'ended',
  id,
  cpuMs: 1,
  ending: { kind: 'returned', empty: true },
  console: [],
  preparingMs: 0,
})

t.test('a program is not blamed for a child that dies while other tenants wait in it', async (t) => {
  const { submit, last, pool, trust } = openPool(t, 1)
  await pool.ready
  for (let round = 0; round < 3; round++) {
    const waiting = await submit('attacker', `waiting ${round}`)
    last().report(entering(waiting.id, `waiting ${round}`), left(waiting.id))
    const victim = await submit('victim', 'honest')
    last().report(entering(victim.id, 'honest'))
    last().exits()
    await turn()
    t.same(last().ran, [victim.id], 'it runs again in a new child, alone')
    last().report(entering(victim.id, 'honest'), left(victim.id))
    await turn()
    t.same(last().ran, [victim.id], 'also while it waits')
    last().report(entering(victim.id, 'honest'), ended(victim.id))
    await turn()
    t.same(last().ran, [victim.id, waiting.id], 'the others follow')
    t.same([...victim.limits, ...waiting.limits], [])
    last().report(entering(waiting.id, `waiting ${round}`), ended(waiting.id))
  }
  t.notOk(trust.quarantined('honest'))
})

t.test('a program is not blamed for a child that may hold memory of other tenants', async (t) => {
  const { submit, last, pool } = openPool(t, 1)
  await pool.ready
  const other = await submit('other', 'idle')
  last().report(entering(other.id, 'idle'), ended(other.id))
  const victim = await submit('victim', 'honest')
  last().report(entering(victim.id, 'honest'))
  last().exits()
  await turn()
  t.same(last().ran, [victim.id])
  t.same(victim.limits, [])
})

t.test('a program that kills its child alone is quarantined', async (t) => {
  const { submit, last, pool } = openPool(t, 1)
  await pool.ready
  for (let round = 0; round < 2; round++) {
    const bystander = await submit('victim', 'fetches', false)
    last().report(entering(bystander.id, 'fetches'), left(bystander.id))
    const killer = await submit('attacker', 'killer')
    last().report(entering(killer.id, 'killer'))
    last().exits()
    await turn()
    t.same(bystander.limits, ['interrupted'], 'it has called the host, so it cannot run again')
    t.same(killer.limits, [])
    last().report(entering(killer.id, 'killer'))
    last().exits()
    await turn()
    t.same(killer.limits, ['crash'])
  }
  t.same((await submit('attacker', 'killer')).limits, ['quarantine'])
})

t.test('a job runs alone only in a child that has had no other program', async (t) => {
  const { children, submit, last, pool } = openPool(t, 2)
  await pool.ready
  const waiting = await submit('attacker', 'waiting')
  const [, shared] = children as [FakeChild, FakeChild]
  shared.report(entering(waiting.id, 'waiting'), left(waiting.id))
  const first = await submit('victim', 'first')
  shared.report(entering(first.id, 'first'))
  shared.exits()
  await turn()
  const alone = last()
  t.same(alone.ran, [first.id])
  t.same(children[0]?.ran, [waiting.id], 'others need not wait for it, though they are not trusted')
  children[0]?.report(entering(waiting.id, 'waiting'), left(waiting.id))
  const second = await submit('victim', 'second')
  children[0]?.report(entering(second.id, 'second'))
  children[0]?.exits()
  await turn()
  t.same(alone.ran, [first.id])
  alone.report(entering(first.id, 'first'), ended(first.id))
  await turn()
  t.same(alone.ran, [first.id], 'it is replaced')
  t.same(last().ran, [second.id])
})

t.test('a tenant that killed two children with any programs is separated from the others', async (t) => {
  const { children, trust, submit, last, pool } = openPool(t, 2)
  await pool.ready
  for (const key of ['well', 'other']) trust.behaved(key)
  for (const key of ['killer 1', 'killer 2']) {
    const killer = await submit('attacker', key)
    last().report(entering(killer.id, key))
    last().exits()
    await turn()
    t.same(killer.limits, ['crash'])
  }
  const first = children[0] as FakeChild
  const before = await submit('victim', 'unknown 1')
  t.same(last().ran, [before.id], 'programs without trust are in the last child')
  last().report(entering(before.id, 'unknown 1'), left(before.id))
  const separated = await submit('attacker', 'well')
  t.same([first.ran, last().ran], [[], [before.id]], 'it waits until the others have left')
  const after = await submit('victim', 'unknown 2')
  t.same(first.ran, [after.id], 'the others do not wait')
  first.report(entering(after.id, 'unknown 2'), ended(after.id))
  last().report(entering(before.id, 'unknown 1'), ended(before.id))
  await turn()
  t.same(last().ran, [before.id, separated.id])
  last().report(entering(separated.id, 'well'), left(separated.id))
  const trusted = await submit('victim', 'other')
  t.same(first.ran, [after.id, trusted.id], 'nor do they join it')
  const own = await submit('attacker', 'new')
  t.same(last().ran, [before.id, separated.id, own.id], 'its own programs do')
})
