import type { ChildProcess } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { duplexPair } from 'node:stream'
import t from 'tap'
import type { Log } from '../../../src/common/log.ts'
import { encodeFrame } from '../../../src/sandbox/frames.ts'
import { SILENCE_MS } from '../../../src/sandbox/limits.ts'
import { Child } from '../../../src/sandbox/parent/child.ts'
import type { Exit } from '../../../src/sandbox/parent/exit.ts'
import type { Job } from '../../../src/sandbox/parent/job.ts'
import type { FromChild } from '../../../src/sandbox/protocol.ts'

const CPU_MS = 1_000

const jobOf = (id: number, key: string): Job => ({
  id,
  source: {
    tenantId: 't',
    name: 'code',
    code: '',
    key,
    memoryMib: 64,
    resultBytes: 1,
    logLines: 1,
    logBytes: 1,
  },
  repeatable: true,
  over: false,
  budgetMs: CPU_MS,
  begin: (channel, quiet) => channel.send({ ...RUN, id, key, quiet }),
  onCall: () => {},
  onEnded: () => {},
  onChecked: () => {},
  fail: () => {},
})
const RUN = {
  kind: 'run',
  tenantId: 't',
  sdk: false,
  cpuMs: CPU_MS,
  wallMs: 10_000,
  syncCalls: 1,
  asyncCalls: 1,
} as const

/** A child whose process is the test: `report` sends messages of the process, and `receive` raw bytes. */
const openChild = () => {
  const [ours, theirs] = duplexPair()
  const process = Object.assign(new EventEmitter(), {
    pid: 1,
    kill: () => process.emit('close'),
  })
  let now = 0
  const warned: string[] = []
  const log = { warn: (_: object, text: string) => warned.push(text) } as unknown as Log
  const exits: Exit[] = []
  theirs.resume()
  const child = new Child(
    { process: process as unknown as ChildProcess, stream: ours },
    {
      log,
      now: () => now,
      maxBytes: 1_000,
      onReady: () => {},
      onFree: () => {},
      onUnknown: () => {},
      onLost: () => {},
      onSpent: () => {},
      onExit: (exit) => exits.push(exit),
    },
  )
  return {
    child,
    warned,
    receive: (bytes: Buffer) => ours.emit('data', bytes),
    report: (...messages: FromChild[]) => {
      for (const message of messages) ours.emit('data', encodeFrame(message))
    },
    /** Its exit, if it is watched at this time. */
    watchAt: async (at: number) => {
      now = at
      child.watch()
      await new Promise((done) => setImmediate(done))
      return exits[0]
    },
  }
}

const ended = (id: number, preparingMs: number): FromChild => ({
  kind: 'ended',
  id,
  cpuMs: 1,
  ending: { kind: 'returned', empty: true },
  console: [],
  preparingMs,
})

t.test('a trusted invocation is assumed to start when it is sent, and timed from then on', async (t) => {
  const { child, report, watchAt } = openChild()
  report({ kind: 'ready' })
  child.give(jobOf(1, 'a'), true)
  t.equal(child.since, undefined, 'its program is new to the child, which will report its start')
  report({ kind: 'entering', id: 1, key: 'a', budgetMs: CPU_MS }, ended(1, 0))
  await watchAt(100)
  child.give(jobOf(2, 'a'), true)
  t.equal(child.since, 100)
  t.notOk(await watchAt(100 + CPU_MS + SILENCE_MS))
  t.match(await watchAt(101 + CPU_MS + SILENCE_MS), {
    reason: 'unresponsive',
    entered: { id: 2, assumed: true },
  })
})

t.test('an untrusted invocation starts when the child reports it, and is timed from then on', async (t) => {
  const { child, report, watchAt } = openChild()
  report({ kind: 'ready' }, { kind: 'pong' })
  child.give(jobOf(1, 'a'), false)
  report({ kind: 'entering', id: 1, key: 'a', budgetMs: CPU_MS }, ended(1, 0))
  child.give(jobOf(2, 'a'), false)
  t.equal(child.since, undefined)
  report({ kind: 'entering', id: 2, key: 'a', budgetMs: CPU_MS })
  t.equal(child.since, 0)
  const exit = await watchAt(1 + CPU_MS + SILENCE_MS)
  t.match(exit, { reason: 'unresponsive', entered: { id: 2 } })
  t.notOk(exit?.entered?.assumed)
})

t.test('a child that prepares the next context has no invocation until it is sent one', async (t) => {
  const { child, report, watchAt } = openChild()
  report({ kind: 'ready' })
  child.give(jobOf(1, 'a'), true)
  report({ kind: 'entering', id: 1, key: 'a', budgetMs: CPU_MS }, ended(1, CPU_MS))
  t.equal(child.preparing, 'a')
  await watchAt(10)
  child.give(jobOf(2, 'a'), true)
  t.equal(child.preparing, undefined)
  t.notOk(await watchAt(CPU_MS + SILENCE_MS + 10), 'the time of the context and of the code after it')
  t.match(await watchAt(CPU_MS + SILENCE_MS + 51), {
    reason: 'unresponsive',
    entered: { id: 2, assumed: true },
  })
})

t.test("preparing another program's context does not count as the start of a later invocation", async (t) => {
  const { child, report, watchAt } = openChild()
  report({ kind: 'ready' })
  for (const [id, key] of [
    [1, 'a'],
    [2, 'b'],
  ] as const) {
    child.give(jobOf(id, key), true)
    report({ kind: 'entering', id, key, budgetMs: CPU_MS }, ended(id, CPU_MS))
  }
  child.give(jobOf(3, 'a'), true)
  t.match(await watchAt(CPU_MS + SILENCE_MS + 1), { reason: 'unresponsive', entered: { id: 0, key: 'b' } })
})

t.test('an invocation sent while another one runs is assumed to start after it', async (t) => {
  const { child, report, watchAt } = openChild()
  report({ kind: 'ready' })
  child.give(jobOf(1, 'a'), true)
  report({ kind: 'entering', id: 1, key: 'a', budgetMs: CPU_MS }, { kind: 'left', id: 1 })
  child.give(jobOf(2, 'a'), true)
  report({ kind: 'entering', id: 1, key: 'a', budgetMs: CPU_MS })
  await watchAt(300)
  report({ kind: 'left', id: 1 })
  t.equal(child.since, 300)
  t.notOk(await watchAt(300 + CPU_MS + SILENCE_MS))
  report(ended(2, 0))
  t.notOk(child.busy)
})

t.test('data after an invalid message is ignored', async (t) => {
  const { warned, receive } = openChild()
  const long = encodeFrame({ kind: 'pong' }, 'x'.repeat(2_000))
  for (let at = 0; at < long.length; at += 100) receive(long.subarray(at, at + 100))
  t.equal(warned.length, 1)
})
