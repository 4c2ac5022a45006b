import type { CodeIssue } from '../../sdk/index.ts'
import { CALL_BYTES, HEAD_CHARS, UNSETTLED_CALL_BYTES, WAITING_PER_CALL } from '../limits.ts'
import type { Ending, FromChild, RunHeader } from '../protocol.ts'
import type { Envelope, LoadVerdict, RealmLine } from '../realm/abi.ts'
import type { GuestContext, Occupant } from './context.ts'
import { locationOf, timedOut } from './failures.ts'
import type { ProgramIsolate } from './program-isolate.ts'
import { linesOf, outcomeOf } from './reported-outcome.ts'

/** Timeout for reading the console of a stopped invocation, in ms. */
const CONSOLE_MS = 50
type LimitEnding = Extract<Ending, { kind: 'limit' }>

const MAX_MESSAGE = 1_000
const UNSETTLED = 'The returned promise never settles.'
/** Longest delay of a timer (Node's own limit). */
const LONGEST_DELAY = 2 ** 31 - 1

const envelope = (value: Envelope): string => JSON.stringify(value)
const NULL = envelope({ ok: null })
const TOO_MANY = envelope({
  error: { name: 'Error', message: 'This invocation has made too many host calls.' },
})

const TOO_LARGE = envelope({
  error: { name: 'Error', message: 'The input of this call, with those of unfinished calls, is too large.' },
})

interface HostCall {
  readonly call: number
  readonly name: string
  readonly json: string
  readonly bytes: number
}

interface Deps {
  readonly send: (message: FromChild, body?: string) => void
  /** Reports that its code is entered now; returns when the report is sent. */
  readonly enter: (entered: { readonly id: number; readonly key: string; readonly budgetMs: number }) => void
  /** Queues an entry until the child runs no other code. */
  readonly later: (entry: () => void) => void
  /** Milliseconds of a monotonic clock; CPU milliseconds of this thread. */
  readonly now: () => number
  readonly cpu: () => number
  /**
   * Called at its end. `good`: the isolate can be used again. Returns the time limit, in ms, of preparing the program's
   * next context immediately after; 0: none is prepared.
   */
  readonly onEnd: (good: boolean) => number
}

/** An invocation in its context, from entry to entry. */
export interface ChildInvocation {
  begin(): void
  settle(call: number, envelope: string): void
  /** The parent no longer needs it. */
  cancel(): void
}

/** Issues of a loaded program; none when it has a function. */
export const verdictIssues = (verdict: LoadVerdict): CodeIssue[] =>
  verdict.kind === 'function'
    ? []
    : [
        {
          line: (verdict.kind === 'threw' && verdict.line) || 1,
          column: (verdict.kind === 'threw' && verdict.column) || 1,
          message: verdict.message,
        },
      ]

export const createInvocation = (
  header: RunHeader,
  argument: string,
  isolate: ProgramIsolate,
  deps: Deps,
): ChildInvocation => {
  const { id, cpuMs } = header
  const { name, key } = isolate.program
  const wallEnd = deps.now() + header.wallMs
  let context: GuestContext | undefined
  let used = 0
  let syncCalls = 0
  let over = false
  let tooMany = false
  let timeUp = false
  let entryEnd = 0
  let outcome: { readonly head: string; readonly result: string | undefined } | undefined
  let wallTimer: NodeJS.Timeout | undefined
  const timers = new Map<number, NodeJS.Timeout>()
  /** Bytes of the calls at the host, or in the outbox for the next `left`. */
  const calling = new Map<number, number>()
  const waiting: HostCall[] = []
  let outbox: HostCall[] = []
  /** Bytes of all unsettled calls. */
  let inputBytes = 0

  const guest = { lost: () => (isolate.outgrown ? limit('memory', false) : finish(undefined)) }

  /** Ends it; without an ending it is reported as lost. */
  const finish = (
    ending: Ending | undefined,
    good = true,
    console: RealmLine[] = [],
    result?: string,
  ): void => {
    if (over) return
    over = true
    clearTimeout(wallTimer)
    for (const timer of timers.values()) clearTimeout(timer)
    isolate.guests.delete(guest)
    if (!isolate.gone) context?.release()
    const preparingMs = deps.onEnd(good)
    if (ending === undefined) deps.send({ kind: 'lost', id })
    else deps.send({ kind: 'ended', id, cpuMs: used, ending, console, preparingMs }, result)
  }

  const lines = (): RealmLine[] => {
    try {
      const text = context?.console(CONSOLE_MS) ?? '[]'
      return text.length > HEAD_CHARS ? [] : linesOf(JSON.parse(text))
    } catch {
      return []
    }
  }

  const limit = (which: LimitEnding['limit'], good = true, location?: string) =>
    finish(
      { kind: 'limit', limit: which, ...(location === undefined ? {} : { location }) },
      good,
      which === 'memory' ? [] : lines(),
    )

  const wallOver = () => limit('wall')

  /** isolated-vm ended the entry. */
  const stopped = (thrown: unknown, wallFirst: boolean) => {
    if (isolate.gone) limit('memory', false)
    else limit(wallFirst ? 'wall' : 'cpu', false, locationOf(thrown, name))
  }

  /** The promise can never settle: nothing is pending. `thrown`: an unhandled rejection. */
  const stranded = (thrown: unknown) => {
    const { name: kind, message } = thrown instanceof Error ? thrown : new Error(UNSETTLED)
    const text = message.slice(0, MAX_MESSAGE)
    finish({ kind: 'threw', name: kind.slice(0, MAX_MESSAGE), message: text, frames: [] }, true, lines())
  }

  const ended = ({ head, result }: NonNullable<typeof outcome>) => {
    if (head.length > HEAD_CHARS) return limit('result')
    const { ending, console } = outcomeOf(head, result === undefined)
    const tooLarge = result !== undefined && Buffer.byteLength(result) > isolate.program.resultBytes
    if (tooLarge) finish({ kind: 'limit', limit: 'result' }, true, console)
    else finish(ending, true, console, result)
  }

  /** One entry into the isolate within the remaining CPU and wall time, and its consequences. */
  const enter = (entry: (timeout: number) => void) => {
    if (over) return
    const cpuLeft = cpuMs - used
    const wallLeft = wallEnd - deps.now()
    if (wallLeft <= 0) return wallOver()
    const budget = Math.max(1, Math.ceil(Math.min(cpuLeft, wallLeft)))
    deps.enter({ id, key, budgetMs: budget })
    entryEnd = deps.now() + budget
    const before = deps.cpu()
    let failure: { readonly thrown: unknown } | undefined
    try {
      entry(budget)
    } catch (thrown) {
      failure = { thrown }
    }
    used += deps.cpu() - before
    if (over) return
    if (tooMany) return limit('host_calls')
    if (isolate.gone || timeUp || timedOut(failure?.thrown))
      return stopped(failure?.thrown, wallLeft < cpuLeft)
    if (outcome !== undefined) return ended(outcome)
    if (used >= cpuMs) return limit('cpu')
    if (calling.size + waiting.length + timers.size === 0) return stranded(failure?.thrown)
    for (const { call, name: what, json } of outbox) deps.send({ kind: 'call', id, call, name: what }, json)
    deps.send({ kind: 'left', id })
    outbox = []
    wallTimer ??= setTimeout(() => deps.later(wallOver), Math.max(0, wallEnd - deps.now()))
  }

  const settle = (call: number, text: string) => enter((timeout) => context?.settle(call, text, timeout))

  /** Settles a call after `delay` ms. */
  const settleLater = (call: number, text: string, delay: number) => {
    const due = () => {
      if (timers.delete(call)) settle(call, text)
    }
    timers.set(
      call,
      setTimeout(() => deps.later(due), delay),
    )
  }

  const start = (asked: HostCall) => {
    calling.set(asked.call, asked.bytes)
    outbox.push(asked)
  }

  const ask = (call: number, what: string, json: string) => {
    if (what === 'cancel') {
      const timer = Number(json)
      clearTimeout(timers.get(timer))
      timers.delete(timer)
      return
    }
    if (calling.size + waiting.length + timers.size >= header.asyncCalls * WAITING_PER_CALL) {
      tooMany = true
      return
    }
    if (what === 'timer')
      return settleLater(call, NULL, Math.min(LONGEST_DELAY, Math.max(1, Number(json) || 1)))
    const bytes = Buffer.byteLength(what) + Buffer.byteLength(json)
    if (bytes > CALL_BYTES || inputBytes + bytes > UNSETTLED_CALL_BYTES)
      return settleLater(call, TOO_LARGE, 0)
    inputBytes += bytes
    const asked = { call, name: what, json, bytes }
    if (calling.size >= header.asyncCalls) waiting.push(asked)
    else start(asked)
  }

  const occupantOf = ({ hostSync }: GuestContext): Occupant => ({
    timeLeft: () => entryEnd - deps.now(),
    sync: (what, json) => {
      syncCalls++
      if (syncCalls > header.syncCalls) tooMany = true
      // a loop of host calls must end with its entry too
      timeUp ||= deps.now() > entryEnd
      return tooMany || timeUp ? TOO_MANY : hostSync(what, json)
    },
    async: ask,
    done: (head, result) => {
      outcome ??= { head, result }
    },
  })

  const begin = (timeout: number) => {
    const started = deps.now()
    const { context: mine, loaded } = isolate.acquire()
    context = mine
    mine.attach(occupantOf(mine))
    if (!loaded) {
      const issues = verdictIssues(mine.load(timeout))
      if (issues.length > 0) return finish({ kind: 'unusable', issues }, true, lines())
    }
    mine.start(argument, header.sdk, Math.max(1, Math.ceil(timeout - (deps.now() - started))))
  }

  return {
    begin: () => {
      isolate.guests.add(guest)
      const { compiled } = isolate
      if (compiled.kind === 'invalid') finish({ kind: 'unusable', issues: [...compiled.issues] })
      else enter(begin)
    },
    settle: (call, text) => {
      const bytes = calling.get(call)
      if (over || bytes === undefined) return
      calling.delete(call)
      inputBytes -= bytes
      const next = waiting.shift()
      if (next !== undefined) start(next)
      settle(call, text)
    },
    cancel: () => finish(undefined),
  }
}
