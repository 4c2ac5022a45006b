import { CALL_BYTES, UNSETTLED_CALL_BYTES, WAITING_PER_CALL } from '../limits.ts'
import type { Envelope } from '../realm/abi.ts'

/** Longest delay of a timer (Node's own limit). */
const LONGEST_DELAY = 2 ** 31 - 1

const NULL = JSON.stringify({ ok: null } satisfies Envelope)
const TOO_LARGE = JSON.stringify({
  error: { name: 'Error', message: 'The input of this call, with those of unfinished calls, is too large.' },
} satisfies Envelope)

interface HostCall {
  readonly call: number
  readonly name: string
  readonly json: string
  readonly bytes: number
}

interface Deps {
  /** Concurrent calls at the host. */
  readonly atOnce: number
  /** Queues a task until the child runs no other code. */
  readonly later: (task: () => void) => void
  /** Settles a call in the context. */
  readonly settle: (call: number, envelope: string) => void
}

/** Unsettled asynchronous calls and timers of one invocation (`../realm/abi.ts`, HostAsync). */
export class PendingCalls {
  /** The code has made more calls than may be pending. */
  tooMany = false
  readonly #deps: Deps
  readonly #timers = new Map<number, NodeJS.Timeout>()
  /** Bytes of the calls at the host, or in the outbox. */
  readonly #started = new Map<number, number>()
  readonly #waiting: HostCall[] = []
  #outbox: HostCall[] = []
  /** Bytes of all unsettled calls. */
  #inputBytes = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#started.size + this.#waiting.length + this.#timers.size
  }

  add(call: number, name: string, json: string): void {
    if (name === 'cancel') {
      clearTimeout(this.#timers.get(Number(json)))
      this.#timers.delete(Number(json))
    } else if (this.size >= this.#deps.atOnce * WAITING_PER_CALL) this.tooMany = true
    else if (name === 'timer')
      this.#settleLater(call, NULL, Math.min(LONGEST_DELAY, Math.max(1, Number(json) || 1)))
    else this.#addHostCall(call, name, json)
  }

  /** Removes a call that the host has settled; false for an unknown one. */
  remove(call: number): boolean {
    const bytes = this.#started.get(call)
    if (bytes === undefined) return false
    this.#started.delete(call)
    this.#inputBytes -= bytes
    const next = this.#waiting.shift()
    if (next !== undefined) this.#start(next)
    return true
  }

  /** Calls to send to the host. */
  takeOutbox(): readonly HostCall[] {
    const outbox = this.#outbox
    this.#outbox = []
    return outbox
  }

  clearTimers(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }

  #addHostCall(call: number, name: string, json: string): void {
    const bytes = Buffer.byteLength(name) + Buffer.byteLength(json)
    if (bytes > CALL_BYTES || this.#inputBytes + bytes > UNSETTLED_CALL_BYTES) {
      this.#settleLater(call, TOO_LARGE, 0)
      return
    }
    this.#inputBytes += bytes
    const hostCall = { call, name, json, bytes }
    if (this.#started.size >= this.#deps.atOnce) this.#waiting.push(hostCall)
    else this.#start(hostCall)
  }

  #start(hostCall: HostCall): void {
    this.#started.set(hostCall.call, hostCall.bytes)
    this.#outbox.push(hostCall)
  }

  #settleLater(call: number, envelope: string, delay: number): void {
    const due = () => {
      if (this.#timers.delete(call)) this.#deps.settle(call, envelope)
    }
    this.#timers.set(
      call,
      setTimeout(() => this.#deps.later(due), delay),
    )
  }
}
