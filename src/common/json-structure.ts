import { inOwnTurn, yieldIfDue } from './event-loop.ts'
import type { Json } from './json.ts'
import { parseJson } from './parse-json.ts'

/**
 * Structure of JSON text, by which its cost is known before it is parsed: many small values cost more than their bytes.
 */
export interface JsonStructure {
  readonly depth: number
  /** Arrays and objects. */
  readonly containers: number
  /** A member whose name holds an escape counts as four: `parseJson` writes such names anew. */
  readonly members: number
  /** Commas: one less than the values and members of a container. */
  readonly commas: number
  /** Distinct names of members, which cost many times what repeated ones do; counted up to a limit. */
  readonly names: number
}

/**
 * Limits of JSON that code is given or returns, which may have some MiB. Beyond them, parsing blocks the event loop for
 * too long.
 */
export const CODE_JSON_LIMITS = {
  containers: 300_000,
  members: 150_000,
  values: 1_000_000,
  names: 20_000,
} as const

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]

/** Members that one with an escaped name counts as. */
const ESCAPED = 4

/** Bytes that are counted in one turn. */
const SLICE = 65_536

/** Counts the structure of JSON text before it is parsed, in turns; counts at most `mostNames` + 1 names. */
export const structureOfText = async (body: Buffer, mostNames: number): Promise<JsonStructure> => {
  let depth = 0
  let deepest = 0
  let containers = 0
  let members = 0
  let commas = 0
  const names = new Set<string>()
  /** Start and end of the last string, in bytes. */
  let start = 0
  let end = 0
  let weight = 1
  let pauseAt = SLICE
  for (let at = 0; at < body.length; at++) {
    if (at >= pauseAt) {
      pauseAt = at + SLICE
      const pause = yieldIfDue()
      if (pause) await pause
    }
    const byte = body[at]
    if (byte === QUOTE) {
      start = at + 1
      weight = 1
      for (at++; at < body.length && body[at] !== QUOTE; at++)
        if (body[at] === BACKSLASH) {
          at++
          weight = ESCAPED
        }
      end = at
    } else if (byte === COMMA) commas++
    else if (byte === COLON) {
      members += weight
      if (names.size <= mostNames) names.add(body.toString('latin1', start, end))
    }
    // "[" and "{", "]" and "}"
    else if (byte === 0x5b || byte === 0x7b) {
      containers++
      if (++depth > deepest) deepest = depth
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return { depth: deepest, containers, members, commas, names: names.size }
}

/** True for a structure that exceeds one of `CODE_JSON_LIMITS`. */
export const exceedsCodeLimits = ({ containers, members, commas, names }: JsonStructure): boolean =>
  containers > CODE_JSON_LIMITS.containers ||
  members > CODE_JSON_LIMITS.members ||
  names > CODE_JSON_LIMITS.names ||
  containers + commas > CODE_JSON_LIMITS.values

/** Parses JSON text of code, in turns; undefined when it exceeds `CODE_JSON_LIMITS`. */
export const parseCodeJson = async (json: string): Promise<Json | undefined> => {
  if (json.length <= SLICE) return parseJson(json) as Json
  const bytes = await inOwnTurn(() => Buffer.from(json))
  if (exceedsCodeLimits(await structureOfText(bytes, CODE_JSON_LIMITS.names))) return undefined
  return inOwnTurn(() => parseJson(json) as Json)
}
