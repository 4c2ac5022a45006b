/** Containers: paths `/a/b/` of `[A-Za-z0-9_-]` names, stored lower case (completions §4). */

const PATH = /^\/(?:[a-z0-9_-]+\/)+$/

/** Characters of a container path. */
const CONTAINER_LENGTH = 400

/** The stored form of a container, or undefined when it is malformed. */
export const parseContainer = (value: unknown): string | undefined => {
  if (typeof value !== 'string' || value.length > CONTAINER_LENGTH) return undefined
  const path = value.toLowerCase()
  return PATH.test(path) ? path : undefined
}

/**
 * The stored form of what a rule, a filter or a search names: a container, or `/` for all of them; the slash at the end
 * may be left out. Undefined when it is malformed.
 */
export const parseScope = (value: unknown): string | undefined => {
  if (typeof value !== 'string' || value === '') return undefined
  if (value === '/') return value
  return parseContainer(value.endsWith('/') ? value : `${value}/`)
}
