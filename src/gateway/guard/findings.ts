/** What a response held of the values that its request disclosed, and what became of it. */
import type { GuardMode } from '../../sdk/index.ts'
import { jsonPointers } from '../body/places.ts'
import type { Finding } from './scan.ts'

/** What becomes of a value that came back. */
type GuardAction = 'reported' | 'replaced' | 'blocked'

const ACTIONS: Readonly<Record<GuardMode, GuardAction | undefined>> = {
  off: undefined,
  report: 'reported',
  replace: 'replaced',
  block: 'blocked',
}

/** Places that the record of a token names. */
const MAX_PLACES = 5

/** The name of a header, or an offset in the decoded body. */
type Place = string | number

interface FoundToken {
  readonly action: GuardAction
  times: number
  readonly places: Place[]
}

export class Findings {
  readonly #modeOf: (found: Pick<Finding, 'isEgressOnly'>) => GuardMode
  readonly #tokens = new Map<string, FoundToken>()
  readonly counts: Record<GuardAction, number> = { reported: 0, replaced: 0, blocked: 0 }

  constructor(modeOf: (found: Pick<Finding, 'isEgressOnly'>) => GuardMode) {
    this.#modeOf = modeOf
  }

  /** What was found in one place, or first found there. */
  add(finding: Pick<Finding, 'tokenId' | 'isEgressOnly' | 'count'>, place: Place): void {
    const action = ACTIONS[this.#modeOf(finding)]
    if (action === undefined) return
    const { tokenId, count } = finding
    this.counts[action] += count
    let found = this.#tokens.get(tokenId)
    if (found === undefined) {
      found = { action, times: 0, places: [] }
      this.#tokens.set(tokenId, found)
    }
    found.times += count
    if (found.places.length < MAX_PLACES) found.places.push(place)
  }

  get isEmpty(): boolean {
    return this.#tokens.size === 0
  }

  /** `clean`, `blocked`, or how many values were replaced and reported: `replaced=2`. */
  get summary(): string {
    const { blocked, replaced, reported } = this.counts
    if (blocked > 0) return 'blocked'
    const parts = [
      replaced > 0 ? [`replaced=${replaced}`] : [],
      reported > 0 ? [`reported=${reported}`] : [],
    ].flat()
    return parts.length === 0 ? 'clean' : parts.join(', ')
  }

  /**
   * What became of each token's value, and where it stood: `replaced at /card/number`. `json`: the body as far as it is
   * at hand; without it, places in the body are offsets.
   */
  async describe(
    json: Buffer | undefined,
  ): Promise<readonly { readonly tokenId: string; readonly what: string }[]> {
    const found = [...this.#tokens]
    const offsets = found
      .flatMap(([, { places }]) => places)
      .filter((place) => typeof place === 'number')
      .sort((a, b) => a - b)
    const pointers = json === undefined ? [] : await jsonPointers(json, offsets)
    const nameOf = (place: Place): string =>
      typeof place === 'string' ? `header ${place}` : (pointers[offsets.indexOf(place)] ?? `byte ${place}`)
    return found.map(([tokenId, { action, times, places }]) => {
      const more = times > places.length ? ` and ${times - places.length} more` : ''
      return { tokenId, what: `${action} at ${places.map(nameOf).join(', ')}${more}` }
    })
  }
}
