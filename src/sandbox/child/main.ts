/**
 * Program of a child. It has no keys, no sockets and no store. All input arrives on one stream, and the parent checks
 * every message. It enters isolates on its main thread, one after the other, and may be killed at any time.
 */
import type { Socket } from 'node:net'
import { createFrameReader } from '../frames.ts'
import { COMPILE_MS, MESSAGE_MARGIN, PREPARED_MS } from '../limits.ts'
import type { FromChild, ProgramHeader, RunHeader, ToChild } from '../protocol.ts'
import type { HostSync, RealmScripts } from '../realm/abi.ts'
import { verdictIssues } from './context.ts'
import { timedOut } from './failures.ts'
import { Invocation } from './invocation.ts'
import { createIsolateCache } from './isolate-cache.ts'
import { createMessageWriter } from './message-writer.ts'
import type { ProgramIsolate } from './program-isolate.ts'
import { createTaskQueue } from './task-queue.ts'

/** First message of the parent. */
export interface ChildStart {
  readonly scripts: RealmScripts
  /** Limit of an argument. */
  readonly argumentBytes: number
  /** CPU limit of a top level that is loaded ahead of an invocation. */
  readonly aheadMs: number
}

type Entering = Omit<Extract<FromChild, { kind: 'entering' }>, 'kind'>

/**
 * The invocation that the parent assumes to run here (id 0: preparing a context), since when, and whether it was
 * `quiet`.
 */
interface Reported {
  readonly id: number
  readonly key: string
  readonly at: number
  readonly quiet: boolean
}

/** Milliseconds after which an idle child reports that a context is ready; well within `PREPARED_MS`. */
const IDLE_MS = 20

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
  let reported: Reported | undefined
  const send = (message: FromChild, body?: string) => {
    writer.write(message, body)
    reported = undefined
  }
  const enter = (message: Entering) => {
    writer.write({ kind: 'entering', ...message })
    writer.flush()
    reported = { id: message.id, key: message.key, at: now(), quiet: false }
  }
  let isPlanned = false
  const reportIdle = () => {
    isPlanned = false
    if (reported?.id !== 0) return
    send({ kind: 'left', id: 0 })
    writer.flush()
  }
  /** After a quiet invocation the report is delayed: the next one is likely to follow and makes it unnecessary. */
  const onIdle = () => {
    if (reported?.id !== 0) return
    if (!reported.quiet) return reportIdle()
    if (!isPlanned) setTimeout(reportIdle, IDLE_MS)
    isPlanned = true
  }
  const tasks = createTaskQueue({ socket, writer, onIdle })
  const invocations = new Map<number, Invocation>()
  const isolates = createIsolateCache({ ...start, createHostSync: realm.createHostSync, now })

  const find = (id: number, key: string): ProgramIsolate | undefined => {
    if (!isolates.has(key)) enter({ id, key, budgetMs: COMPILE_MS })
    const isolate = isolates.get(key)
    if (isolate === undefined) send({ kind: 'unknown', id })
    return isolate
  }

  /** Whether the parent assumes that this child prepares the program's next context. */
  const isPreparing = (key: string) =>
    reported?.id === 0 && reported.key === key && now() - reported.at < PREPARED_MS

  /** Prepares the next context: now, if no task is queued (returns its time limit), else when idle (returns 0). */
  const prepare = (isolate: ProgramIsolate, tenantId: string): number => {
    const { key } = isolate.program
    const make = () => {
      if (isolate.gone) return
      if (!isPreparing(key)) enter({ id: 0, key, budgetMs: start.aheadMs })
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
    let accepted = header.quiet && !writer.hasPending && (reported === undefined || isPreparing(key))
    const invocation = new Invocation(header, argument, isolate, {
      send: (message, body) => {
        send(message, body)
        if (message.kind === 'left') isolates.waits(isolate)
        if (message.kind !== 'ended' || message.preparingMs === 0) return
        writer.flush()
        reported = { id: 0, key, at: now(), quiet: header.quiet }
      },
      enter: (message) => {
        if (accepted) reported = { id, key, at: now(), quiet: true }
        else enter(message)
        accepted = false
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
      send({ kind: 'checked', id, issues: [...issues], exportsFunction: issues.length === 0 })
    if (isolate.compiled.kind === 'invalid') return result(isolate.compiled.issues)
    enter({ id, key, budgetMs: cpuMs })
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
      send({ kind: 'pong' })
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
  send({ kind: 'ready' })
  writer.flush()
}
