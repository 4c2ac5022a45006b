import { PREPARED_MS } from '../limits.ts'
import type { FromChild } from '../protocol.ts'
import type { MessageWriter } from './message-writer.ts'

/** Milliseconds after which an idle child reports that a context is ready; well within `PREPARED_MS`. */
const IDLE_MS = 20

/** Code that the parent assumes to run here (id 0: preparing a context), since when, and whether it was `quiet`. */
interface Reported {
  readonly id: number
  readonly key: string
  readonly at: number
  readonly quiet: boolean
}

type Entering = Omit<Extract<FromChild, { kind: 'entering' }>, 'kind'>

/** Reports which code runs here, except what the parent infers (src/sandbox/README.md, "Tracking of running code"). */
export class Reports {
  readonly #writer: MessageWriter
  readonly #now: () => number
  #reported: Reported | undefined
  #isIdlePlanned = false

  constructor(writer: MessageWriter, now: () => number) {
    this.#writer = writer
    this.#now = now
  }

  send(message: FromChild, body?: string): void {
    this.#writer.write(message, body)
    this.#reported = undefined
  }

  enter({ id, key, budgetMs }: Entering): void {
    this.#writer.write({ kind: 'entering', id, key, budgetMs })
    this.#writer.flush()
    this.#reported = { id, key, at: this.#now(), quiet: false }
  }

  /** Whether the parent assumes that an invocation sent quietly starts now. */
  infersStart(key: string): boolean {
    return !this.#writer.hasPending && (this.#reported === undefined || this.isPreparing(key))
  }

  /** A quiet invocation starts. */
  enterQuietly(id: number, key: string): void {
    this.#reported = { id, key, at: this.#now(), quiet: true }
  }

  /** The last message said that the program's next context is prepared. */
  prepare(key: string, quiet: boolean): void {
    this.#writer.flush()
    this.#reported = { id: 0, key, at: this.#now(), quiet }
  }

  /** Whether the parent assumes that this child prepares the program's next context. */
  isPreparing(key: string): boolean {
    const reported = this.#reported
    return reported?.id === 0 && reported.key === key && this.#now() - reported.at < PREPARED_MS
  }

  /** After a quiet invocation the report is delayed: the next one is likely to follow and makes it unnecessary. */
  idle(): void {
    if (this.#reported?.id !== 0) return
    if (!this.#reported.quiet) this.#reportIdle()
    else if (!this.#isIdlePlanned) {
      this.#isIdlePlanned = true
      setTimeout(() => this.#reportIdle(), IDLE_MS)
    }
  }

  #reportIdle(): void {
    this.#isIdlePlanned = false
    if (this.#reported?.id !== 0) return
    this.send({ kind: 'left', id: 0 })
    this.#writer.flush()
  }
}
