/** Where in a body an error is: places when an error is reported, never before. Names are those of the body itself. */
import { MAX_PLACES, needsPlaces, pointerOf, shortenPlace, withPlaces } from '../../common/error-places.ts'
import { AppError } from '../../common/errors.ts'
import { yieldIfDue } from '../../common/event-loop.ts'
import { decodeForm } from './form-encoding.ts'

/** The places of ascending positions in a valid body. Pauses as long work does. */
export type FindPlaces = (body: Buffer, positions: readonly number[]) => Promise<readonly string[]>

/** Bytes of a field's name that are decoded: more than are shown. */
const FIELD_NAME = 600
const SLICE = 16_384
const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Behind the string that begins at `from`. */
const stringEnd = (body: Buffer, from: number): number => {
  let at = from + 1
  while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1
  return at + 1
}

/** JSON pointers of strings and numbers; a position may be anywhere in them. */
export const jsonPointers: FindPlaces = async (body, positions) => {
  const places: string[] = []
  /** The member name or element index that is being read, for each open container. */
  const path: (string | number)[] = []
  let isName = false
  for (let at = 0, slice = SLICE; at < body.length && places.length < positions.length; ) {
    if (at > slice) {
      slice = at + SLICE
      const pause = yieldIfDue()
      if (pause) await pause
    }
    const byte = body[at]
    const last = path.length - 1
    if (byte === QUOTE) {
      const end = stringEnd(body, at)
      if (isName) path[last] = JSON.parse(body.toString('utf8', at, end)) as string
      isName = false
      while (places.length < positions.length && (positions[places.length] as number) < end)
        places.push(pointerOf(path))
      at = end
      continue
    }
    while (at === positions[places.length]) places.push(pointerOf(path))
    if (byte === 0x7b) {
      path.push('')
      isName = true
    } else if (byte === 0x5b) {
      path.push(0)
      isName = false
    } else if (byte === 0x7d || byte === 0x5d) {
      path.pop()
      isName = false
    } else if (byte === 0x2c) {
      const element = path[last]
      if (typeof element === 'number') path[last] = element + 1
      else isName = true
    }
    at++
  }
  return places
}

/** Names of form fields. */
export const fieldNames: FindPlaces = async (body, positions) =>
  positions.map((position) => {
    const from = position === 0 ? 0 : body.lastIndexOf('&', position - 1) + 1
    const equals = body.indexOf('=', from)
    const end = equals === -1 || equals > position ? position : equals
    return shortenPlace(decodeForm(body, from, Math.min(end, from + FIELD_NAME)).bytes.toString('utf8'))
  })

/** Lines, from 1. */
export const lines: FindPlaces = async (body, positions) => {
  const places: string[] = []
  let line = 1
  let next = body.indexOf(0x0a)
  for (const position of positions) {
    for (; next !== -1 && next < position; next = body.indexOf(0x0a, next + 1)) {
      line++
      const pause = line % 1_000 === 0 ? yieldIfDue() : undefined
      if (pause) await pause
    }
    places.push(`line ${line}`)
  }
  return places
}

/** The error of the expressions at `position`, with its place. */
export const withPlace = async (
  thrown: unknown,
  body: Buffer,
  position: number,
  find: FindPlaces,
): Promise<unknown> => {
  const error = AppError.from(thrown)
  return needsPlaces(error) ? withPlaces(error, await find(body, [position])) : thrown
}

/** The error about tokens, with the places that name them. */
export const withTokenPlaces = async (
  thrown: unknown,
  body: Buffer,
  replacements: readonly { readonly start: number; readonly ids: readonly string[] }[],
  find: FindPlaces,
): Promise<unknown> => {
  if (!(thrown instanceof AppError) || thrown.tokens === undefined) return thrown
  const tokens = new Set(thrown.tokens)
  const positions = replacements
    .filter(({ ids }) => ids.some((id) => tokens.has(id)))
    .map(({ start }) => start)
  return withPlaces(thrown, await find(body, positions.slice(0, MAX_PLACES)))
}
