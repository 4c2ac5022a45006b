import { inOwnTurn, yieldIfDue } from './event-loop.ts'
import type { Json } from './json.ts'

/** What JSON costs to build, as far as it shows before: many small values cost many times what their bytes do. */
export interface JsonStructure {
  readonly depth: number
  /** Arrays and objects. */
  readonly containers: number
  readonly members: number
  /** Commas: one less than the values and members of a container. */
  readonly commas: number
  /** Different names of members, which cost many times what repeated ones do; counted as far as asked for. */
  readonly names: number
}

/**
 * JSON that code is given or returns, which may have some MiB: beyond them it takes the event loop for longer than others
 * should wait.
 */
export const MOST_OF_CODE = {
  containers: 300_000,
  members: 150_000,
  values: 1_000_000,
  names: 20_000,
} as const

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]

/** Bytes that are counted in one turn. */
const SLICE = 65_536

/** The structure of JSON text before it is built, as long work; counts at most `mostNames` + 1 names. */
export const structureOfText = async (body: Buffer, mostNames: number): Promise<JsonStructure> => {
  let depth = 0
  let deepest = 0
  let containers = 0
  let members = 0
  let commas = 0
  const names = new Set<string>()
  /** Of the last string. */
  let start = 0
  let end = 0
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
      for (at++; at < body.length && body[at] !== QUOTE; at++) if (body[at] === BACKSLASH) at++
      end = at
    } else if (byte === COMMA) commas++
    else if (byte === COLON) {
      members++
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

/** True for a structure with more of anything than `MOST_OF_CODE`. */
export const exceedsCode = ({ containers, members, commas, names }: JsonStructure): boolean =>
  containers > MOST_OF_CODE.containers ||
  members > MOST_OF_CODE.members ||
  names > MOST_OF_CODE.names ||
  containers + commas > MOST_OF_CODE.values

/** The value of JSON text that code gave or returned, as long work; undefined when it exceeds `MOST_OF_CODE`. */
export const parseOfCode = async (json: string): Promise<Json | undefined> => {
  if (json.length <= SLICE) return JSON.parse(json)
  const bytes = await inOwnTurn(() => Buffer.from(json))
  if (exceedsCode(await structureOfText(bytes, MOST_OF_CODE.names))) return undefined
  return inOwnTurn(() => JSON.parse(json))
}
