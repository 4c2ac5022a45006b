import { AppError } from '../common/errors.ts'
import { type JsonStructure, structureOfText } from '../common/json-structure.ts'

/** Maximum levels of nested arrays and objects (completions §11). */
export const MAX_DEPTH = 64

/** Limits of a body's structure. More takes too much CPU time, even within 1 MiB. */
export const STRUCTURE_LIMITS = { containers: 60_000, members: 60_000, names: 2_000 } as const

type Structure = Omit<JsonStructure, 'commas'>

/** Throws `malformed` for a body whose structure costs too much, over either transport. */
export const checkStructure = ({ depth, containers, members, names }: Structure): void => {
  if (depth > MAX_DEPTH)
    throw new AppError('malformed', `The body nests deeper than ${MAX_DEPTH} levels. Flatten it.`)
  if (containers > STRUCTURE_LIMITS.containers || members > STRUCTURE_LIMITS.members)
    throw new AppError(
      'malformed',
      `The body holds more than ${STRUCTURE_LIMITS.containers} arrays and objects, or more than ${STRUCTURE_LIMITS.members} members. Split it.`,
    )
  checkNames(names)
}

/** Throws `malformed` for more names of members, in an object or all of them. */
export const checkNames = (names: number): void => {
  if (names > STRUCTURE_LIMITS.names)
    throw new AppError(
      'malformed',
      `The body's members have more than ${STRUCTURE_LIMITS.names} different names. Split it.`,
    )
}

/** `checkStructure` of JSON text before it is parsed. */
export const checkText = async (body: Buffer): Promise<void> =>
  checkStructure(await structureOfText(body, STRUCTURE_LIMITS.names))

/** Counts the structure of a value that was decoded from a message, whose depth is limited. */
export const structureOf = (value: unknown): Structure => {
  let deepest = 0
  let containers = 0
  let members = 0
  const names = new Set<string>()
  const walk = (item: unknown, depth: number) => {
    if (typeof item !== 'object' || item === null) return
    containers++
    if (depth > deepest) deepest = depth
    if (Array.isArray(item)) for (const inner of item) walk(inner, depth + 1)
    else
      for (const name in item) {
        members++
        if (names.size <= STRUCTURE_LIMITS.names) names.add(name)
        walk((item as Record<string, unknown>)[name], depth + 1)
      }
  }
  walk(value, 1)
  return { depth: deepest, containers, members, names: names.size }
}
