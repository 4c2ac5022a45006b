/**
 * Program of a child. It has no keys, no sockets and no store. All input arrives on one stream, and the parent checks
 * every message. It enters isolates on its main thread, one after the other, and may be killed at any time.
 */
import type { Socket } from 'node:net'
import { createFrameReader } from '../frames.ts'
import { COMPILE_MS, MESSAGE_MARGIN } from '../limits.ts'
import type { ProgramHeader, RunHeader, ToChild } from '../protocol.ts'
import type { HostSync, RealmScripts } from '../realm/abi.ts'
import { verdictIssues } from './context.ts'
import { timedOut } from './failures.ts'
import { Invocation } from './invocation.ts'
import { createIsolateCache } from './isolate-cache.ts'
import { createMessageWriter } from './message-writer.ts'
import type { ProgramIsolate } from './program-isolate.ts'
import { Reports } from './reports.ts'
import { createTaskQueue } from './task-queue.ts'

/** First message of the parent. */
export interface ChildStart {
  readonly scripts: RealmScripts
  /** Limit of an argument. */
  readonly argumentBytes: number
  /** CPU limit of a top level that is loaded ahead of an invocation. */
  readonly aheadMs: number
}

const cpu = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
const now = (): number => performance.now()

export const runChild = (
  socket: Socket,
  fd: number,
  start: ChildStart,
  realm: { createHostSync(timeLeft: () => number): HostSync },
): void => {
  const writer = createMessageWriter(socket, fd)
  const reports = new Reports(writer, now)
  const tasks = createTaskQueue({ socket, writer, onIdle: () => reports.idle() })
  const invocations = new Map<number, Invocation>()
  const isolates = createIsolateCache({ ...start, createHostSync: realm.createHostSync, now })

  const find = (id: number, key: string): ProgramIsolate | undefined => {
    if (!isolates.has(key)) reports.enter({ id, key, budgetMs: COMPILE_MS })
    const isolate = isolates.get(key)
    if (isolate === undefined) reports.send({ kind: 'unknown', id })
    return isolate
  }

  /** Prepares the next context: now, if no task is queued (returns its time limit), else when idle (returns 0). */
  const prepare = (isolate: ProgramIsolate, tenantId: string): number => {
    const { key } = isolate.program
    const make = () => {
      if (isolate.gone) return
      if (!reports.isPreparing(key)) reports.enter({ id: 0, key, budgetMs: start.aheadMs })
      if (!isolate.prepare(start.aheadMs)) isolates.drop(isolate)
    }
    if (tasks.next(tenantId, make)) return start.aheadMs
    tasks.idle(make)
    return 0
  }

  const run = (header: RunHeader, argument: string) => {
    const { id, key, tenantId } = header
    const isolate = find(id, key)
    if (isolate === undefined) return
    let quiet = header.quiet && reports.infersStart(key)
    const invocation = new Invocation(header, argument, isolate, {
      send: (message, body) => {
        reports.send(message, body)
        if (message.kind === 'left') isolates.waits(isolate)
        else if (message.kind === 'ended' && message.preparingMs > 0) reports.prepare(key, header.quiet)
      },
      enter: (message) => {
        if (quiet) reports.enterQuietly(id, key)
        else reports.enter(message)
        quiet = false
      },
      later: (entry) => tasks.add(tenantId, entry),
      now,
      cpu,
      onEnd: (good) => {
        invocations.delete(id)
        if (!good || !isolates.used(isolate)) isolates.drop(isolate)
        else if (!isolate.ready && isolate.compiled.kind !== 'invalid' && isolates.worthPreparing(isolate))
          return prepare(isolate, tenantId)
        return 0
      },
    })
    invocations.set(id, invocation)
    invocation.begin()
  }

  const check = (id: number, key: string, cpuMs: number) => {
    const isolate = find(id, key)
    if (isolate === undefined) return
    const result = (issues: readonly { line: number; column: number; message: string }[]) =>
      reports.send({ kind: 'checked', id, issues: [...issues] })
    if (isolate.compiled.kind === 'invalid') return result(isolate.compiled.issues)
    reports.enter({ id, key, budgetMs: cpuMs })
    try {
      result(verdictIssues(isolate.load(cpuMs)))
    } catch (thrown) {
      const message = timedOut(thrown)
        ? `Loading the code used more than ${cpuMs} ms of CPU.`
        : isolate.gone
          ? `Loading the code used more than ${isolate.program.memoryMib} MiB.`
          : 'The code could not be loaded.'
      isolates.drop(isolate)
      result([{ line: 1, column: 1, message }])
    }
  }

  const receive = (message: ToChild, body: string) => {
    if (message.kind === 'program') return isolates.learn(message satisfies ProgramHeader, body)
    if (message.kind === 'ping') {
      reports.send({ kind: 'pong' })
      writer.flush()
      return
    }
    tasks.add(message.tenantId, () => {
      if (message.kind === 'run') run(message, body)
      else if (message.kind === 'check') check(message.id, message.key, message.cpuMs)
      else if (message.kind === 'settle') invocations.get(message.id)?.settle(message.call, body)
      else invocations.get(message.id)?.cancel()
    })
  }

  const read = createFrameReader(start.argumentBytes + MESSAGE_MARGIN, ({ header, body }) =>
    receive(header as ToChild, body),
  )
  socket.on('data', (chunk: Buffer) => {
    read(chunk)
    tasks.now()
  })
  // process.exit would wait for an isolate that is stuck on another thread
  const end = () => process.kill(process.pid, 'SIGKILL')
  socket.on('end', end)
  socket.on('error', end)
  tasks.idle(isolates.prefetch)
  reports.send({ kind: 'ready' })
  writer.flush()
}
