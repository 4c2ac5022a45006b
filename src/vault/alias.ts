import { AppError, invalid } from '../common/errors.ts'
import type { Json } from '../common/json.ts'
import type { Expressions } from '../expressions/types.ts'
import { storedWork } from '../expressions/work.ts'
import type { Work } from '../sdk/index.ts'
import { isTokenId, TOKEN_LIMITS } from '../sdk/token-input.ts'

/** Ids that an alias expression yields at once. */
const CANDIDATES = 8
/** Shorter leaves of data may be part of an id by chance. */
const SHORTEST_LEAF = 6
/** Least digits of numbers of cards, accounts and persons. */
const SHORTEST_NUMBER = 9
/** UTF-16 units of the longest id. */
const MAX_ID_LENGTH = 2 * TOKEN_LIMITS.id.maximum
/** Units of work to compare an id with a leaf. */
const COMPARED = 5

const bare = (text: string): string => text.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase()

/** Strings and numbers inside `data`. */
const leavesOf = (data: Json, leaves: string[] = []): string[] => {
  if (typeof data === 'string' || typeof data === 'number') {
    const text = bare(String(data))
    if (text.length > 0) leaves.push(text)
  } else if (typeof data === 'object' && data !== null)
    for (const member of Object.values(data)) leavesOf(member, leaves)
  return leaves
}

/** Readings of an id: as it is, reversed, and decoded from hex or base64 at each offset. */
const readingsOf = (id: string): readonly string[] => {
  const runs = id.match(/[0-9a-f]{12,}/gi) ?? []
  const decoded = [
    ...runs.flatMap((run) => [run, run.slice(1)]).map((run) => Buffer.from(run, 'hex')),
    ...[0, 1, 2, 3].map((from) => Buffer.from(id.slice(from), 'base64')),
  ]
  return [id, [...id].reverse().join(''), ...decoded.map(String)].map(bare)
}

/** True when a chosen id is a part of the data, or holds a number of it: ids are stored and logged in clear text. */
export const matchesTokenData = (id: string, data: Json): boolean => {
  const readings = readingsOf(id)
  return leavesOf(data).some(
    (leaf) =>
      leaf.length >= SHORTEST_LEAF &&
      leaf.length <= MAX_ID_LENGTH &&
      (readings.includes(leaf) ||
        (leaf.length >= SHORTEST_NUMBER &&
          /^\d+$/.test(leaf) &&
          readings.some((reading) => reading.includes(leaf)))),
  )
}

/** True when an id discloses a leaf of the data: equals a short one, or holds a longer one. */
const shows = (id: string, leaves: readonly string[]): boolean => {
  const text = bare(id)
  const readings = readingsOf(id)
  return leaves.some((leaf) =>
    leaf.length < SHORTEST_LEAF ? text === leaf : readings.some((reading) => reading.includes(leaf)),
  )
}

/**
 * Ids that an alias expression yields over `shown`, each once, in order; none when it yields no usable one. Ids that
 * hold a value of the data, plain or encoded, are left out: an expression without an alias filter would store
 * plaintext.
 */
export const aliasCandidates = (
  expressions: Expressions,
  text: string,
  data: Json,
  /** The part of the data that an id, which is never removed or hidden, may hold. */
  shown: Json,
  callWork?: Work,
): readonly string[] => {
  const work = storedWork(callWork)
  const expression = expressions.parseStored(text)
  const leaves = leavesOf(data)
  const candidates = new Set<string>()
  try {
    for (let i = 0; i < CANDIDATES; i++) {
      const id = expression.render({ data: shown }, work)
      work.use(leaves.length * COMPARED)
      if (isTokenId(id) && !shows(id, leaves)) candidates.add(id)
    }
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_expression')
      throw invalid({ id: ['cannot be evaluated over the data'] })
    throw error
  }
  return [...candidates]
}
