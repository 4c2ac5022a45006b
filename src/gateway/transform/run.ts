import { AppError } from '../../common/errors.ts'
import { isObject, type Json } from '../../common/json.ts'
import { createCodeScope } from '../../egress/code-scope.ts'
import type { Code, CodeScope, OutboundDestination, StoredProxy } from '../../sdk/index.ts'
import type { BodyLimits } from '../body/limits.ts'
import type { Edits, Head, HeaderRules } from '../headers.ts'
import { readBody, type Shape, writeBody } from './content.ts'
import { changesOf, isHidden, readHeaders, showHeaders } from './headers.ts'

export type TransformName = 'request_transform' | 'response_transform'

/** A message for a transform. */
export interface Message {
  readonly head: Head
  /** Names of `head` that the message has no more. */
  readonly stripped?: readonly string[]
  readonly shape: Shape
  /** Decoded. */
  readonly body: Buffer
  /** Further members of `args`. */
  readonly args?: Readonly<Record<string, Json>>
}

/** Where and for whom a transform runs. */
export interface TransformRun {
  readonly code: Pick<Code, 'run'>
  readonly proxy: StoredProxy
  readonly destination: OutboundDestination
  /** Scope with the destination lists of the values in the message. Absent: no value is limited. */
  readonly scope?: CodeScope | undefined
  readonly prefixes: HeaderRules
  /** Whether the caller may read what the code says: anonymous ones may not (completions §12). */
  readonly exposeErrorMessages: boolean
  readonly traceId: string
  readonly signal: AbortSignal
  readonly limits: BodyLimits
}

export interface Transformed {
  /** Content-Length included. */
  readonly edits: Edits
  readonly body: Buffer
}

const CODE = { request_transform: 'requestTransform', response_transform: 'responseTransform' } as const

const transformOf = (proxy: StoredProxy | undefined, name: TransformName): string | undefined =>
  proxy?.[CODE[name]]

/** Milliseconds for one transform. */
export const WALL_MS = 10_000

/** Bytes of a body that the sandbox takes. */
export const CODE_BYTES = 5_000_000

const tooLarge = (detail: string) => new AppError('too_large', detail)

/** Edits for a body that was sent coded and is plain now. */
export const withoutCoding = (edits: Edits, contentEncoding: string | undefined): Edits =>
  contentEncoding === undefined ? edits : { ...edits, remove: [...edits.remove, 'content-encoding'] }

const wrong = (name: TransformName, what: string) => new AppError('code_failed', `The ${name} ${what}`)

/** The headers returned; without a content type what is no text keeps the message's own. */
const withContentType = (headers: Head, message: Head, body: Json): Head => {
  const own = message.get('content-type')
  if (own === undefined || headers.has('content-type') || typeof body === 'string' || body === null)
    return headers
  return new Map([...headers, ['content-type', own]])
}

/**
 * Runs a proxy's transform on a message; what it returns becomes the message (interface, "Proxy transforms"). Rejects
 * as completions §7 says: `code_failed`, also for what is no `{ body, headers }`, `unprocessable`, `overloaded`;
 * `malformed` for a body that is not what its content type says.
 */
export const runTransform = async (
  name: TransformName,
  { head, stripped = [], shape, body, args }: Message,
  run: TransformRun,
): Promise<Transformed> => {
  const { code, proxy, prefixes, exposeErrorMessages, traceId, signal, limits } = run
  const { tenantId, applicationId, configuration } = proxy
  const text = transformOf(proxy, name)
  if (text === undefined) throw new Error(`the proxy has no ${name}`)
  if (body.length > CODE_BYTES)
    throw tooLarge(`The body is larger than the ${CODE_BYTES} bytes that code takes.`)
  const value = await readBody(shape, body)
  const unseen = new Set(stripped)
  const shown = showHeaders(head, (header) => unseen.has(header) || isHidden(header, prefixes))
  const argument = {
    args: { body: value, headers: shown, ...args },
    configuration: configuration as Json,
  }
  const scope = run.scope ?? createCodeScope(run.destination)
  const returned: unknown = await code.run({
    ...{
      tenantId,
      name,
      code: text,
      argument,
      applicationId,
      traceId,
      signal,
      exposeErrorMessages,
      scope,
    },
    depth: 0,
    wallMs: WALL_MS,
  })
  if (!isObject(returned) || !('body' in returned) || !isObject(returned.headers))
    throw wrong(name, 'returned something else than { body, headers }. Return both.')
  const sent = readHeaders(returned.headers, (header) => isHidden(header, prefixes))
  if (sent === undefined)
    throw wrong(name, 'returned headers that HTTP does not allow: names, values, or more than 32 KiB.')
  const headers = withContentType(sent, head, returned.body as Json)
  const bytes = await writeBody(
    headers.get('content-type')?.join(', '),
    returned.body as Json,
    body.length === 0,
  )
  if (bytes === undefined)
    throw wrong(name, 'returned a body that its content type cannot hold. Return a string, or another type.')
  if (bytes.length > limits.rewrittenBytes)
    throw tooLarge(`The ${name} returned a body larger than ${limits.rewrittenBytes} bytes.`)
  const edits = changesOf(shown, headers)
  return {
    edits: { ...edits, set: new Map([...edits.set, ['content-length', `${bytes.length}`]]) },
    body: bytes,
  }
}
