/** The owner's share of Envoy's memory and of its cache of names (../README.md, "Shares"). */
import { PIECES_BYTES } from '../../control-plane/limits.ts'
import { single } from '../headers.ts'
import type { Resolved } from '../request.ts'
import { ownerOf } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import { modeOverrideOf } from './forward.ts'

/** Bytes of the body, as announced; undefined when unknown. */
export const announcedBytes = ({ head, hasBody }: Pick<Resolved, 'head' | 'hasBody'>): number | undefined => {
  if (!hasBody) return 0
  const length = single(head, 'content-length')
  return length === undefined ? undefined : Number(length)
}

const take = (request: Resolved, context: RequestContext, bytes: number | undefined): Resolved => {
  const { caller, destination } = request
  const { upstream, host, port } = destination
  context.telemetry.host = host
  if (context.isClosed) return request
  const owner = ownerOf(caller)
  const isGuarded = request.guard.isAsked || modeOverrideOf(request, context) === 'guardedResponse'
  context.memory.take(owner, bytes, isGuarded)
  if (upstream !== 'demo') context.gateway.deps.hosts.use(owner, `${host}:${port}`)
  return request
}

/** Throws `rate_limited` when the owner has its share of calls, of bytes that they hold, or of hosts. */
export const takeShare = (request: Resolved, context: RequestContext): Resolved => {
  const bytes = announcedBytes(request)
  context.telemetry.requestBytes = bytes
  return take(request, context, bytes)
}

/** The same for a body that comes in pieces. */
export const takeShareOfPieces = (request: Resolved, context: RequestContext): Resolved =>
  take(request, context, PIECES_BYTES)
