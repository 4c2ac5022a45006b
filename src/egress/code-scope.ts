/** Where one run of code may send the values that it was given (completions §14). */
import { AppError } from '../common/errors.ts'
import type { CodeScope, DestinationList, OutboundDestination } from '../sdk/index.ts'
import { allowsDestination } from './destination-list.ts'

/** Different lists that one run may be given: each request is compared with all of them. */
const MAX_LISTS = 1_000

class Scope implements CodeScope {
  readonly destination: OutboundDestination | undefined
  readonly given: CodeScope['given']
  readonly #lists = new Map<string, DestinationList>()

  constructor(destination: OutboundDestination | undefined, given: CodeScope['given']) {
    this.destination = destination
    this.given = given
  }

  get isLimited(): boolean {
    return this.#lists.size > 0
  }

  limit(list: DestinationList): void {
    if (this.#lists.size <= MAX_LISTS) this.#lists.set(JSON.stringify(list), list)
  }

  check(destination: OutboundDestination): void {
    const lists = [...this.#lists.values()]
    if (lists.length <= MAX_LISTS && lists.every((list) => allowsDestination(list, destination))) return
    throw new AppError(
      'destination_not_allowed',
      `This code was given a token whose destinations do not allow "${destination.host}". Send the request before the code reads that token, or allow the destination.`,
    )
  }
}

/**
 * Scope for one run of code. `destination`: that of its proxy; undefined for reactors. `check` throws
 * `destination_not_allowed`. `given`: as `CodeScope.given`.
 */
export const createCodeScope = (destination?: OutboundDestination, given?: CodeScope['given']): CodeScope =>
  new Scope(destination, given)
