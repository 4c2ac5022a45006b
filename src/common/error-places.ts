/** Places of errors in a body: JSON pointers, field names or lines, and never the text of a value. */
import { AppError } from './errors.ts'
import { escapePointer, type Json } from './json.ts'

/** Maximum places that one error names. */
export const MAX_PLACES = 20
const MAX_LENGTH = 200

export const shortenPlace = (place: string): string =>
  place.length > MAX_LENGTH ? `${place.slice(0, MAX_LENGTH)}…` : place

/** RFC 6901; `/` for the complete body. */
export const pointerOf = (path: readonly (string | number)[]): string =>
  shortenPlace(path.map((name) => `/${escapePointer(String(name))}`).join('') || '/')

/** All strings of a JSON value in their order. `path` is updated in place. */
export function* stringsOf(value: Json, path: (string | number)[]): Generator<string> {
  if (typeof value === 'string') yield value
  if (typeof value !== 'object' || value === null) return
  const isArray = Array.isArray(value)
  for (const [name, inner] of Object.entries(value)) {
    path.push(isArray ? Number(name) : name)
    yield* stringsOf(inner, path)
    path.pop()
  }
}

/** An error of expressions that has no places yet. */
export const needsPlaces = (error: AppError): boolean =>
  error.errors === undefined &&
  (error.code === 'malformed' || error.code === 'invalid_expression' || error.tokens !== undefined)

/**
 * A copy of `error` with `errors` for each place. For an error about tokens these say `token not found` or `token not
 * allowed`.
 */
export const withPlaces = (error: AppError, places: readonly string[]): AppError => {
  const tokenIssue = error.code === 'invalid_expression' ? 'token not found' : 'token not allowed'
  const issue = error.tokens === undefined ? error.message : tokenIssue
  return new AppError(error.code, error.message, {
    errors: Object.fromEntries(places.map((place) => [place, [issue]])),
    ...(error.retryAfter === undefined ? {} : { retryAfter: error.retryAfter }),
  })
}
