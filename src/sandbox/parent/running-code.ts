import { PREPARED_MS } from '../limits.ts'

/** Program that a child runs, and its invocation (0: none). */
export interface Entered {
  readonly id: number
  readonly key: string
  /** Inferred: the invocation was sent quietly and may not have started. */
  readonly assumed?: boolean
}

interface Entry extends Entered {
  readonly at: number
  readonly until: number
}

interface QuietJob {
  readonly id: number
  readonly key: string
  readonly budgetMs: number
}

/**
 * Code that a child runs, from its reports and from those that it may omit
 * (src/sandbox/README.md, "Tracking of running code").
 */
export class RunningCode {
  readonly #now: () => number
  /** Called at the end of an entry. */
  readonly #onSpent: (key: string, ms: number) => void
  /** Sent jobs that have not started; and the one whose start is not reported. */
  readonly #sent = new Set<number>()
  #quiet: QuietJob | undefined
  #entry: Entry | undefined

  constructor(now: () => number, onSpent: (key: string, ms: number) => void) {
    this.#now = now
    this.#onSpent = onSpent
  }

  get entry(): Entry | undefined {
    return this.#entry
  }

  /** Runs code, or will immediately. */
  get busy(): boolean {
    return this.#entry !== undefined || this.#sent.size > 0
  }

  /** Program whose next context is prepared, while nothing else is done. */
  get preparing(): string | undefined {
    return this.#entry?.id === 0 && this.#sent.size === 0 ? this.#entry.key : undefined
  }

  /** A job is sent, quietly if `quiet` is defined. `assume` follows. */
  sent(id: number, quiet: QuietJob | undefined): void {
    this.#sent.add(id)
    this.#quiet = quiet
  }

  /** Assumes that the quiet job starts when the child is idle, or prepares a context of the same program. */
  assume(): void {
    if (this.#quiet === undefined) return
    const { id, key, budgetMs } = this.#quiet
    const now = this.#now()
    if (this.#entry === undefined) this.#entry = { id, key, assumed: true, at: now, until: now + budgetMs }
    else if (this.#entry.id === 0 && this.#entry.key === key) {
      const { at, until } = this.#entry
      const latest = Math.max(now, at + PREPARED_MS) + budgetMs
      this.#entry = { id, key, assumed: true, at, until: Math.max(until, latest) }
    }
  }

  enter(id: number, key: string, budgetMs: number): void {
    this.charge()
    const at = this.#now()
    this.#entry = { id, key, at, until: at + budgetMs }
  }

  leave(id: number): void {
    this.charge()
    this.#entry = undefined
    this.#sent.delete(id)
    if (this.#quiet?.id === id) this.#quiet = undefined
  }

  /** Charges the program for the current entry. */
  charge(): void {
    if (this.#entry !== undefined) this.#onSpent(this.#entry.key, this.#now() - this.#entry.at)
  }
}
