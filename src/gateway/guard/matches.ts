import type { Needle } from './needles.ts'

/** An occurrence of a needle, in bytes of the body. */
export interface Match {
  readonly start: number
  readonly end: number
  readonly needle: Needle
}

/** Occurrences that are not settled yet, by their start. */
export class Matches {
  #items: Match[] = []
  #first = 0

  get first(): Match | undefined {
    return this.#items[this.#first]
  }

  shift(): void {
    this.#first++
    if (2 * this.#first < this.#items.length) return
    this.#items = this.#items.slice(this.#first)
    this.#first = 0
  }

  /** Adds one that ends last; those that lie within it count no more. */
  addLongest(match: Match): void {
    while (this.#items.length > this.#first && (this.#items.at(-1) as Match).start >= match.start)
      this.#items.pop()
    this.#items.push(match)
  }

  /** Adds one beside all others. */
  add(match: Match): void {
    let at = this.#items.length
    while (at > this.#first && (this.#items[at - 1] as Match).start > match.start) at--
    this.#items.splice(at, 0, match)
  }
}
