/** The code of a stored proxy on its request (interface, "Proxy transforms"). */
import type { Json } from '../../common/json.ts'
import type { StoredProxy } from '../../sdk/index.ts'
import { type Outgoing, outboundOf, ownerOf, type Received, type Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import type { Shape } from '../transform/content.ts'
import { type Message, runTransform, type TransformRun, withoutCoding } from '../transform/run.ts'

/** Where and for whom code runs. */
export const codeRunOf = (
  request: Resolved,
  { gateway, telemetry, timeout }: RequestContext,
): Omit<TransformRun, 'code' | 'proxy'> => ({
  destination: outboundOf(request),
  prefixes: gateway.prefixes,
  exposeErrorMessages: request.caller.actorType !== 'anonymous',
  traceId: telemetry.traceId,
  signal: timeout.signal(),
  limits: gateway.options.body,
})

/** What the transform of a request sees. */
export const requestMessage = (
  { head, stripped, method, suffix }: Resolved,
  shape: Shape,
  body: Buffer,
): Message => {
  const query = suffix.query === undefined ? '' : `?${suffix.query}`
  const args: Readonly<Record<string, Json>> = { method, path: suffix.path, query }
  return { head, stripped, shape, body, args }
}

/** Runs code within the shares of its tenant and its proxy. Rejects with `rate_limited` and `overloaded`. */
export const admitCode = <T>(
  { caller }: Resolved,
  proxy: StoredProxy,
  { gateway, timed }: RequestContext,
  { bytes, run }: { readonly bytes: number; readonly run: () => Promise<T> },
): Promise<T> =>
  timed('transform', async () => gateway.deps.codeAdmission.run(bytes, run, ownerOf(caller), proxy.id))

const transformed = async <T extends Outgoing & Received>(
  request: T,
  { proxy, shape }: { readonly proxy: StoredProxy; readonly shape: Shape },
  context: RequestContext,
): Promise<T> => {
  const { sent, bytes, contentEncoding, codeScope } = request
  const plain = request.body ?? sent?.bytes ?? bytes
  const message = requestMessage(request, shape, plain)
  const settings = {
    ...codeRunOf(request, context),
    code: context.gateway.deps.code,
    proxy,
    scope: codeScope,
  }
  const result = await admitCode(request, proxy, context, {
    bytes: plain.length,
    run: () => runTransform('request_transform', message, settings),
  })
  const { set, remove } = withoutCoding(result.edits, contentEncoding)
  const all = new Map([[context.traceHeader, context.traceId] as const, ...set])
  const isEmpty = bytes.length === 0 && result.body.length === 0
  if (isEmpty) all.delete('content-length')
  return { ...request, edits: { set: all, remove }, body: isEmpty ? undefined : result.body }
}

/** Rejects as `runTransform` does. */
export const transform = <T extends Outgoing & Received>(
  request: T,
  context: RequestContext,
): T | Promise<T> => {
  const { proxy, shape } = request
  return proxy === undefined || shape === undefined
    ? request
    : transformed(request, { proxy, shape }, context)
}
