import { HEAD_CHARS } from '../limits.ts'
import type { Ending, FromChild, RunHeader } from '../protocol.ts'
import type { Envelope, RealmLine } from '../realm/abi.ts'
import { type GuestContext, type Occupant, verdictIssues } from './context.ts'
import { locationOf, timedOut } from './failures.ts'
import { PendingCalls } from './pending-calls.ts'
import type { ProgramIsolate } from './program-isolate.ts'
import { linesOf, outcomeOf } from './reported-outcome.ts'
import { type Clocks, TimeBudget } from './time-budget.ts'

/** Timeout for reading the console of a stopped invocation, in ms. */
const CONSOLE_MS = 50
type LimitName = Extract<Ending, { kind: 'limit' }>['limit']

const MAX_MESSAGE = 1_000
const UNSETTLED = 'The returned promise never settles.'

const TOO_MANY = JSON.stringify({
  error: { name: 'Error', message: 'This invocation has made too many host calls.' },
} satisfies Envelope)

interface Deps extends Clocks {
  readonly send: (message: FromChild, body?: string) => void
  /** Reports that its code is entered now; returns when the report is sent. */
  readonly enter: (entered: { readonly id: number; readonly key: string; readonly budgetMs: number }) => void
  /** Queues an entry until the child runs no other code. */
  readonly later: (entry: () => void) => void
  /**
   * Called at its end. `good`: the isolate can be used again. Returns the time limit, in ms, of preparing the program's
   * next context immediately after; 0: none is prepared.
   */
  readonly onEnd: (good: boolean) => number
}

/** An invocation in its context, from entry to entry. */
export class Invocation implements Occupant {
  readonly #header: RunHeader
  readonly #argument: string
  readonly #isolate: ProgramIsolate
  readonly #deps: Deps
  readonly #budget: TimeBudget
  readonly #calls: PendingCalls
  #ended = false
  #context: GuestContext | undefined
  #syncCalls = 0
  /** Whether the code made a host call after the end of its entry. */
  #isLate = false
  #outcome: { readonly head: string; readonly result: string | undefined } | undefined
  #wallTimer: NodeJS.Timeout | undefined

  constructor(header: RunHeader, argument: string, isolate: ProgramIsolate, deps: Deps) {
    this.#header = header
    this.#argument = argument
    this.#isolate = isolate
    this.#deps = deps
    this.#budget = new TimeBudget(header.cpuMs, header.wallMs, deps)
    this.#calls = new PendingCalls({
      atOnce: header.asyncCalls,
      later: deps.later,
      settle: (call, envelope) => this.#settle(call, envelope),
    })
  }

  begin(): void {
    const { invocations, compiled } = this.#isolate
    invocations.add(this)
    if (compiled.kind === 'invalid') this.#finish({ kind: 'unusable', issues: [...compiled.issues] })
    else this.#enter((timeout) => this.#start(timeout))
  }

  settle(call: number, envelope: string): void {
    if (!this.#ended && this.#calls.remove(call)) this.#settle(call, envelope)
  }

  /** The parent no longer needs it. */
  cancel(): void {
    this.#finish(undefined)
  }

  /** Its isolate was disposed. */
  lost(): void {
    if (this.#isolate.outgrown) this.#limit('memory', false)
    else this.#finish(undefined)
  }

  timeLeft(): number {
    return this.#budget.entryLeft
  }

  sync(name: string, json: string): string {
    this.#syncCalls++
    // a loop of host calls must end with its entry too
    this.#isLate ||= this.timeLeft() < 0
    return this.#tooManyCalls || this.#isLate
      ? TOO_MANY
      : (this.#context as GuestContext).hostSync(name, json)
  }

  async(call: number, name: string, json: string): void {
    this.#calls.add(call, name, json)
  }

  done(head: string, result: string | undefined): void {
    this.#outcome ??= { head, result }
  }

  get #tooManyCalls(): boolean {
    return this.#calls.tooMany || this.#syncCalls > this.#header.syncCalls
  }

  #start(timeout: number): void {
    const started = this.#deps.now()
    const { context, loaded } = this.#isolate.acquire()
    this.#context = context
    context.attach(this)
    if (!loaded) {
      const issues = verdictIssues(context.load(timeout))
      if (issues.length > 0) {
        this.#finish({ kind: 'unusable', issues }, true, this.#lines())
        return
      }
    }
    const left = timeout - (this.#deps.now() - started)
    context.start(this.#argument, this.#header.sdk, Math.max(1, Math.ceil(left)))
  }

  #settle(call: number, envelope: string): void {
    this.#enter((timeout) => this.#context?.settle(call, envelope, timeout))
  }

  /** Enters the isolate once, within the remaining CPU and wall time. */
  #enter(entry: (timeout: number) => void): void {
    if (this.#ended) return
    const budgetMs = this.#budget.next()
    if (budgetMs === undefined) {
      this.#limit('wall')
      return
    }
    this.#deps.enter({ id: this.#header.id, key: this.#isolate.program.key, budgetMs })
    let thrown: unknown
    try {
      this.#budget.spend(budgetMs, () => entry(budgetMs))
    } catch (error) {
      thrown = error
    }
    // the entry may have ended it
    if (!this.#ended) this.#left(thrown)
  }

  /** Ends the invocation, or lets it wait for its calls and timers. `thrown`: by the last entry. */
  #left(thrown: unknown): void {
    if (this.#tooManyCalls) this.#limit('host_calls')
    else if (this.#isolate.gone) this.#limit('memory', false)
    else if (this.#isLate || timedOut(thrown))
      this.#limit(this.#budget.nearest, false, locationOf(thrown, this.#isolate.program.name))
    else if (this.#outcome !== undefined) this.#end(this.#outcome)
    else if (this.#budget.cpuLeft <= 0) this.#limit('cpu')
    else if (this.#calls.size === 0) this.#endUnsettled(thrown)
    else this.#wait()
  }

  #wait(): void {
    const { id } = this.#header
    const { send, later } = this.#deps
    for (const { call, name, json } of this.#calls.takeOutbox()) send({ kind: 'call', id, call, name }, json)
    send({ kind: 'left', id })
    const wallOver = () => this.#limit('wall')
    this.#wallTimer ??= setTimeout(() => later(wallOver), Math.max(0, this.#budget.wallLeft))
  }

  #end({ head, result }: { readonly head: string; readonly result: string | undefined }): void {
    if (head.length > HEAD_CHARS) {
      this.#limit('result')
      return
    }
    const { ending, console } = outcomeOf(head, result === undefined)
    const tooLarge = result !== undefined && Buffer.byteLength(result) > this.#isolate.program.resultBytes
    if (tooLarge) this.#finish({ kind: 'limit', limit: 'result' }, true, console)
    else this.#finish(ending, true, console, result)
  }

  /** The promise can never settle: nothing is pending. `thrown`: an unhandled rejection. */
  #endUnsettled(thrown: unknown): void {
    const { name, message } = thrown instanceof Error ? thrown : new Error(UNSETTLED)
    this.#finish(
      {
        kind: 'threw',
        name: name.slice(0, MAX_MESSAGE),
        message: message.slice(0, MAX_MESSAGE),
        frames: [],
      },
      true,
      this.#lines(),
    )
  }

  #limit(limit: LimitName, good = true, location?: string): void {
    const console = limit === 'memory' ? [] : this.#lines()
    this.#finish({ kind: 'limit', limit, ...(location === undefined ? {} : { location }) }, good, console)
  }

  #lines(): RealmLine[] {
    try {
      const text = this.#context?.console(CONSOLE_MS) ?? '[]'
      return text.length > HEAD_CHARS ? [] : linesOf(JSON.parse(text))
    } catch {
      return []
    }
  }

  /** Ends it; without an ending it is reported as lost. */
  #finish(ending: Ending | undefined, good = true, console: RealmLine[] = [], result?: string): void {
    if (this.#ended) return
    this.#ended = true
    const { id } = this.#header
    const { send, onEnd } = this.#deps
    clearTimeout(this.#wallTimer)
    this.#calls.clearTimers()
    this.#isolate.invocations.delete(this)
    if (!this.#isolate.gone) this.#context?.release()
    const preparingMs = onEnd(good)
    if (ending === undefined) send({ kind: 'lost', id })
    else send({ kind: 'ended', id, cpuMs: this.#budget.usedCpu, ending, console, preparingMs }, result)
  }
}
