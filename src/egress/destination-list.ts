/** Lists of destinations (completions §14): their stored form, what they allow, and whether one lies within another. */
import { AppError } from '../common/errors.ts'
import type {
  AllowedDestination,
  AllowedDestinationInput,
  DestinationList,
  OutboundDestination,
  Surface,
} from '../sdk/index.ts'
import { holdsHost, parseHostPattern } from './host-pattern.ts'
import { holdsPath, parsePathPattern, segmentsOf } from './path-pattern.ts'
import { parseSurface } from './surfaces.ts'

const DEFAULT_PORTS = [443]
/** Characters of a stored list as JSON: a call may compare many of them. */
const MAX_LIST_LENGTH = 16_384

const unique = <T>(values: readonly T[]): readonly T[] => [...new Set(values)]

type OnIssue = (path: string, sentence: string) => void

const parseOne = (input: AllowedDestinationInput, at: string, issue: OnIssue): AllowedDestination => {
  const host = parseHostPattern(input.host)
  if (host === undefined) issue(`${at}.host`, 'must be a DNS name, "*." and a name, or an IP address')
  const path = typeof input.path === 'string' ? parsePathPattern(input.path) : undefined
  if (typeof input.path === 'string' && path === undefined)
    issue(
      `${at}.path`,
      'must begin with a slash, without empty, dot or encoded-slash segments, "*" alone in a segment, "**" last',
    )
  const surfaces = input.surfaces?.flatMap((text, index) => {
    try {
      return parseSurface(text, [])
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      issue(`${at}.surfaces[${index}]`, `must be a surface. ${thrown.message}`)
      return []
    }
  })
  return {
    host: host ?? '',
    ports: unique(input.ports ?? DEFAULT_PORTS).toSorted((a, b) => a - b),
    ...(input.methods ? { methods: unique(input.methods).toSorted() } : {}),
    ...(path === undefined ? {} : { path }),
    ...(surfaces === undefined ? {} : { surfaces: unique(surfaces).toSorted() }),
  }
}

/** The stored form of a list that satisfies its schema. Issues are reported by path, e.g. `[0].host`. */
export const parseDestinationList = (
  inputs: readonly AllowedDestinationInput[],
  issue: OnIssue,
): DestinationList => {
  const list = inputs.map((input, index) => parseOne(input, `[${index}]`, issue))
  if (JSON.stringify(list).length > MAX_LIST_LENGTH)
    issue('', `must have at most ${MAX_LIST_LENGTH} characters as JSON`)
  return list
}

/**
 * Whether the list allows the request as it is dialed, with a value on each of `surfaces`. Without them the value may
 * stand anywhere, as code can put it: then entries that name surfaces allow nothing.
 */
export const allowsDestination = (
  list: DestinationList,
  { host, port, method, path }: OutboundDestination,
  surfaces?: readonly Surface[],
): boolean => {
  let segments: readonly string[] | undefined
  const holds = (entry: AllowedDestination): boolean => {
    if (!entry.ports.includes(port) || !holdsHost(entry.host, host)) return false
    if (entry.methods !== undefined && !entry.methods.includes(method)) return false
    if (entry.path === undefined) return true
    segments ??= segmentsOf(path.split('?', 1)[0] as string)
    return segments !== undefined && holdsPath(entry.path, segments)
  }
  const open = list.filter(holds)
  if (open.some((entry) => entry.surfaces === undefined)) return true
  if (surfaces === undefined || surfaces.length === 0) return false
  return surfaces.every((surface) => open.some((entry) => entry.surfaces?.includes(surface)))
}

const holdsAll = <T>(outer: readonly T[] | undefined, inner: readonly T[] | undefined): boolean =>
  outer === undefined || (inner?.every((value) => outer.includes(value)) ?? false)

const covers = (outer: AllowedDestination, inner: AllowedDestination): boolean =>
  holdsHost(outer.host, inner.host) &&
  holdsAll(outer.ports, inner.ports) &&
  holdsAll(outer.methods, inner.methods) &&
  holdsAll(outer.surfaces, inner.surfaces) &&
  (outer.path === undefined ||
    (inner.path !== undefined && holdsPath(outer.path, inner.path.slice(1).split('/'))))

/** Whether `inner` allows nothing that `outer` does not. Each of its entries must lie within one entry of `outer`. */
export const isWithin = (
  outer: DestinationList | null | undefined,
  inner: DestinationList | null | undefined,
): boolean =>
  !outer || (inner?.every((entry) => outer.some((candidate) => covers(candidate, entry))) ?? false)
