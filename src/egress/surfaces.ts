/** Lists of surfaces: the places of a proxied request where expressions are evaluated (completions §13). */
import { AppError } from '../common/errors.ts'
import { isConnectionHeader } from '../common/http-headers.ts'
import type { Surface } from '../sdk/index.ts'

/** Surfaces of one list. */
export const MAX_SURFACES = 20

/** UTF-16 units of the name of a header or of a query parameter. */
const MAX_NAME_LENGTH = 100

/** Surfaces of a request without a list. */
export const BODY_ONLY: readonly Surface[] = Object.freeze(['body'] as const)

const HEADER_NAME = /^[A-Za-z0-9_-]+$/
const PRINTABLE = /^[\w:.-]{1,120}$/
/** A query parameter's name is in the audit log, which takes no control characters. */
const CONTROL = /[\p{Cc}\p{Cs}]/u

/** Headers for routing and tracing: their senders set them, and a value in them would be logged. */
const NEVER = new Set(['forwarded', 'via', 'traceparent', 'tracestate', 'x-request-id'])
/** Framing and meaning of the body, forwarding, and headers between Envoy and the gateway. */
const NEVER_PREFIXES = ['content-', 'x-forwarded-', 'x-envoy-', 'x-sidevault-']

const invalidSurface = (text: string, why: string): AppError =>
  new AppError(
    'invalid_surface',
    PRINTABLE.test(text) ? `"${text}" cannot hold expressions: ${why}.` : `A surface is not valid: ${why}.`,
  )

const headerOf = (text: string, name: string, prefixes: readonly string[]): Surface => {
  if (name.length > MAX_NAME_LENGTH || !HEADER_NAME.test(name))
    throw invalidSurface(text, `a header name has 1 to ${MAX_NAME_LENGTH} letters, digits, "-" and "_"`)
  const lower = name.toLowerCase()
  const isOwn = prefixes.some((prefix) => lower.startsWith(`${prefix.toLowerCase()}-`))
  if (
    isOwn ||
    isConnectionHeader(lower) ||
    NEVER.has(lower) ||
    NEVER_PREFIXES.some((start) => lower.startsWith(start))
  )
    throw invalidSurface(text, 'the header is for routing, framing or tracing. Use another header')
  return `header:${lower}`
}

/** `prefixes`: the header prefixes of the service. Throws `invalid_surface`. */
export const parseSurface = (text: string, prefixes: readonly string[]): Surface => {
  if (text === 'body' || text === 'path') return text
  if (text.startsWith('header:')) return headerOf(text, text.slice('header:'.length), prefixes)
  if (!text.startsWith('query:'))
    throw invalidSurface(text, 'a surface is "body", "path", "header:<name>" or "query:<name>"')
  const name = text.slice('query:'.length)
  if (name === '' || name.length > MAX_NAME_LENGTH || CONTROL.test(name))
    throw invalidSurface(text, `the name of a query parameter has 1 to ${MAX_NAME_LENGTH} characters`)
  return `query:${name}`
}

/** A list of surfaces, each once. Throws `invalid_surface`, also for more than `MAX_SURFACES`. */
export const parseSurfaces = (texts: readonly string[], prefixes: readonly string[]): readonly Surface[] => {
  if (texts.length > MAX_SURFACES)
    throw new AppError('invalid_surface', `A list has at most ${MAX_SURFACES} surfaces. Name fewer.`)
  return [...new Set(texts.map((text) => parseSurface(text, prefixes)))]
}
