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
  members: 300_000,
  values: 1_000_000,
  names: 20_000,
} as const

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]

/** The structure of JSON text, before it is built; counts no more than `mostNames` + 1 names. */
export const structureOfText = (body: Buffer, mostNames: number): JsonStructure => {
  let depth = 0
  let deepest = 0
  let containers = 0
  let members = 0
  let commas = 0
  const names = new Set<string>()
  /** Of the last string. */
  let start = 0
  let end = 0
  for (let at = 0; at < body.length; at++) {
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

/** True when JSON text has more of anything than `MOST_OF_CODE`. */
export const exceedsCode = (json: Buffer): boolean => {
  const most = MOST_OF_CODE
  const { containers, members, commas, names } = structureOfText(json, most.names)
  return (
    containers > most.containers ||
    members > most.members ||
    names > most.names ||
    containers + commas > most.values
  )
}
