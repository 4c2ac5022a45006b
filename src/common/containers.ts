/** Containers: paths `/a/b/` of `[A-Za-z0-9_-]` names, stored lower case (completions §4). */

/** A container as it is sent; stored in lower case. */
export const CONTAINER_PATTERN = '^/(?:[A-Za-z0-9_-]+/)+$'
const PATH = new RegExp(CONTAINER_PATTERN)

/** Characters of a container path. */
export const CONTAINER_LENGTH = 400

/** The stored form of a container, or undefined when it is malformed. */
const parseContainer = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= CONTAINER_LENGTH && PATH.test(value)
    ? value.toLowerCase()
    : undefined

/**
 * The stored form of what a rule, a filter or a search names: a container, or `/` for all of them; the slash at the end
 * may be left out. Undefined when it is malformed.
 */
export const parseScope = (value: unknown): string | undefined => {
  if (typeof value !== 'string' || value === '') return undefined
  if (value === '/') return value
  return parseContainer(value.endsWith('/') ? value : `${value}/`)
}
