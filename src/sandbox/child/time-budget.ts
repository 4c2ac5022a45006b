export interface Clocks {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** CPU milliseconds of this thread. */
  readonly cpu: () => number
}

/** CPU and wall time of an invocation. Each entry may take what remains of both. */
export class TimeBudget {
  usedCpu = 0
  /** The limit that the current entry reaches first. */
  nearest: 'cpu' | 'wall' = 'cpu'
  readonly #cpuMs: number
  readonly #wallEnd: number
  readonly #clocks: Clocks
  #entryEnd = 0

  constructor(cpuMs: number, wallMs: number, clocks: Clocks) {
    this.#cpuMs = cpuMs
    this.#wallEnd = clocks.now() + wallMs
    this.#clocks = clocks
  }

  get cpuLeft(): number {
    return this.#cpuMs - this.usedCpu
  }

  get wallLeft(): number {
    return this.#wallEnd - this.#clocks.now()
  }

  /** Remaining milliseconds of the current entry. */
  get entryLeft(): number {
    return this.#entryEnd - this.#clocks.now()
  }

  /** Milliseconds for the next entry; undefined when the wall time is over. */
  next(): number | undefined {
    const { cpuLeft, wallLeft } = this
    if (wallLeft <= 0) return undefined
    this.nearest = wallLeft < cpuLeft ? 'wall' : 'cpu'
    return Math.max(1, Math.ceil(Math.min(cpuLeft, wallLeft)))
  }

  /** Runs an entry of `ms`. */
  spend(ms: number, entry: () => void): void {
    const { now, cpu } = this.#clocks
    this.#entryEnd = now() + ms
    const before = cpu()
    try {
      entry()
    } finally {
      this.usedCpu += cpu() - before
    }
  }
}
