/**
 * Preloaded into the admin process of a complete service (`NODE_OPTIONS=--import=…`) and from there into its writer
 * thread: appends lines of JSON to the file of the environment, one for each turn of the writer, collection of garbage,
 * long turn of the event loop, and numbered call. Times are ms of the machine's monotonic clock (test/bench/tails.ts).
 */
import { channel } from 'node:diagnostics_channel'
import { appendFileSync, existsSync, openSync, readSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { PerformanceObserver } from 'node:perf_hooks'
import {
  isMainThread,
  type MessagePort,
  parentPort,
  type WorkerOptions,
  workerData,
} from 'node:worker_threads'
import Database from 'better-sqlite3'
import type { FromWorker, ToWorker } from '../../src/store/sqlite/protocol.ts'
import type { Clocked, TraceLine, Turn } from './writer-turns.ts'

type Pause = Extract<TraceLine, { kind: 'gc' | 'loop' }>
type WriterPart = Pick<
  Turn,
  'received' | 'began' | 'ran' | 'committed' | 'maintenance' | 'joined' | 'frames' | 'backfilled'
>

/** A message of the writer thread with what this module adds to it. */
type Traced = FromWorker & { readonly turn?: WriterPart; readonly pauses?: readonly Pause[] }

const FILE = 'BENCH_WRITER_TRACE'
/** Name of the writer thread. */
const WRITER = 'sidevault-store-writer'
/** ms between two turns of the event loop that are worth a line. */
const LONG = 3

const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now()
const now = () => performance.now() + offset

const schedule = openSync('/proc/thread-self/schedstat', 'r')
const text = Buffer.alloc(64)
/** The time, and what this thread has run and waited for a core until now, in ms. */
const clocked = (): Clocked => {
  const [ran = 0, waited = 0] = text
    .toString('latin1', 0, readSync(schedule, text, 0, text.length, 0))
    .split(' ')
    .map(Number)
  return { at: now(), ran: ran / 1e6, waited: waited / 1e6 }
}

const observeCollections = (thread: 'main' | 'writer', report: (pause: Pause) => void): void =>
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      report({ kind: 'gc', thread, from: startTime + offset, to: startTime + offset + duration })
  }).observe({ entryTypes: ['gc'] })

const traceMain = (file: string): void => {
  let lines = ''
  const write = (line: TraceLine) => {
    lines += `${JSON.stringify(line)}\n`
  }
  setInterval(() => {
    if (lines !== '') appendFileSync(file, lines)
    lines = ''
  }, 200).unref()
  observeCollections('main', write)

  let before = clocked()
  // A timer is due in every turn that takes longer than this.
  setInterval(() => {
    const after = clocked()
    const waited = after.waited - before.waited
    if (after.at - before.at >= LONG) write({ kind: 'loop', from: before.at + 1, to: after.at, waited })
    before = after
  }, 1).unref()

  const arrivals = new WeakMap<IncomingMessage, number>()
  channel('http.server.request.start').subscribe((message) => {
    arrivals.set((message as { readonly request: IncomingMessage }).request, now())
  })
  channel('http.server.response.finish').subscribe((message) => {
    const { request } = message as { readonly request: IncomingMessage }
    const number = request.headers['x-bench']
    if (number !== undefined)
      write({ kind: 'call', number: Number(number), arrived: arrivals.get(request) ?? 0, finished: now() })
  })

  const threads = createRequire(import.meta.url)('node:worker_threads')
  threads.Worker = class extends threads.Worker {
    readonly #isWriter: boolean
    /** Messages without results: those of one turn, in order, have as many jobs as its results. */
    #sent: {
      readonly sent: number
      readonly commands: readonly string[]
      readonly tokens: readonly string[]
    }[] = []
    constructor(url: URL, options: WorkerOptions) {
      const isWriter = options.name === WRITER
      const traced = {
        execArgv: ['--import', import.meta.url],
        env: { ...(options.env as object), [FILE]: file },
      }
      super(url, isWriter ? { ...options, ...traced } : options)
      this.#isWriter = isWriter
      if (!isWriter) return
      super.on('message', (message: Traced) => {
        if (message.kind !== 'results' || message.turn === undefined) return
        for (const pause of message.pauses ?? []) write(pause)
        const commands: string[] = []
        const tokens: string[] = []
        const sent = this.#sent[0]?.sent ?? 0
        while (commands.length < message.results.length) {
          const next = this.#sent.shift()
          if (next === undefined) break
          commands.push(...next.commands)
          tokens.push(...next.tokens)
        }
        const jobs: Record<string, number> = {}
        for (const command of commands) jobs[command] = (jobs[command] ?? 0) + 1
        write({ kind: 'turn', sent, jobs, tokens, ...message.turn, replied: now() })
      })
    }
    postMessage(message: ToWorker): void {
      const sent = now()
      super.postMessage(message)
      if (!this.#isWriter || message.kind !== 'jobs') return
      const commands = message.jobs.map(({ command }) => command)
      const tokens = message.jobs.flatMap(({ args }) => {
        const [first] = (args as { readonly tokens?: readonly { readonly id: string }[] }).tokens ?? []
        return first === undefined ? [] : [first.id]
      })
      this.#sent.push({ sent, commands, tokens })
    }
  }
  syncBuiltinESMExports()
}

const traceWriter = (port: NonNullable<typeof parentPort>, path: string): void => {
  let turn: Partial<{ -readonly [K in keyof WriterPart]: WriterPart[K] }> = {}
  let pauses: Pause[] = []
  observeCollections('writer', (pause) => pauses.push(pause))

  let index: number | undefined
  const words = Buffer.alloc(100)
  /** Frames of the log, and how many of them are in the database file: from the index of the log. */
  const log = (): { readonly frames: number; readonly backfilled: number } => {
    // Never closed: that would drop SQLite's locks of this process.
    if (index === undefined && existsSync(`${path}-shm`)) index = openSync(`${path}-shm`, 'r')
    if (index !== undefined) readSync(index, words, 0, words.length, 0)
    return { frames: words.readUInt32LE(16), backfilled: words.readUInt32LE(96) }
  }

  const timed = (
    statement: Record<string, unknown>,
    method: string,
    before: () => void,
    after: () => void,
  ) => {
    const run = (statement[method] as (...args: unknown[]) => unknown).bind(statement)
    statement[method] = (...args: unknown[]) => {
      before()
      const result = run(...args)
      after()
      return result
    }
  }
  const prototype = Database.prototype as { prepare: (sql: string) => unknown }
  const { prepare } = prototype
  prototype.prepare = function (sql) {
    const statement = prepare.call(this, sql) as Record<string, unknown>
    const nothing = () => {}
    if (sql === 'begin immediate')
      timed(statement, 'run', nothing, () => {
        turn.began = clocked()
      })
    if (sql === 'commit')
      timed(
        statement,
        'run',
        () => {
          turn.ran = clocked()
          turn.backfilled = -log().backfilled
        },
        () => {
          turn.committed = clocked()
          const { frames, backfilled } = log()
          turn.frames = frames
          turn.backfilled = Math.max(0, backfilled + (turn.backfilled ?? 0))
        },
      )
    if (/^select .*from "logs" .*"journal_seq" >=/.test(sql))
      timed(
        statement,
        'all',
        () => {
          turn.maintenance ??= now()
        },
        nothing,
      )
    return statement
  }

  port.on('message', () => {
    turn = { received: clocked() }
  })
  const threads = createRequire(import.meta.url)('node:worker_threads')
  const { receiveMessageOnPort } = threads
  let hasJoined = false
  threads.receiveMessageOnPort = (from: MessagePort) => {
    const message = receiveMessageOnPort(from)
    if (message !== undefined) hasJoined = true
    // The last look is at the end of maintenance.
    if (hasJoined) turn.joined = now()
    return message
  }
  syncBuiltinESMExports()
  const post = port.postMessage.bind(port)
  port.postMessage = (message: FromWorker) => {
    if (message.kind !== 'results') return post(message)
    post({ ...message, turn, pauses })
    pauses = []
    hasJoined = false
  }
}

const file = process.env[FILE]
if (file !== undefined && isMainThread && process.argv[1]?.endsWith('roles/process.ts')) traceMain(file)
if (file !== undefined && parentPort !== null && workerData?.path !== undefined)
  traceWriter(parentPort, workerData.path)
