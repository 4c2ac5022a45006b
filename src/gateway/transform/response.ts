/** A destination's response on its way through a response transform (interface, "Proxy transforms"; completions §7). */
import { AppError } from '../../common/errors.ts'
import { inOwnTurn } from '../../common/event-loop.ts'
import { prefixHeaders } from '../../ext-proc/contract.ts'
import type { StoredProxy } from '../../sdk/index.ts'
import { plainBody } from '../body/plain.ts'
import type { Head } from '../headers.ts'
import { asUtf8, type Shape, shapeOf } from './content.ts'
import { runTransform, type Transformed, type TransformRun, withoutCoding } from './run.ts'

/** A response whose body a transform needs. */
export interface CollectedResponse {
  readonly head: Head
  /** Undefined: it has no content type, and passes only if its body turns out to be empty. */
  readonly shape: Shape | undefined
}

const unusable = (detail: string) => new AppError('bad_gateway', detail)

/** The destination's status; undefined for Envoy's local replies (control-plane/destinations.ts sets it). */
export const responseStatus = (head: Head, prefix: string): string | undefined =>
  head.get(prefixHeaders(prefix).destinationStatus)?.[0]

const notTransformable = () =>
  unusable(
    'The content type of the response is neither JSON nor a form, so the response transform cannot run. Have the destination send JSON, or set "response_transform.otherwise" of the proxy to "pass".',
  )

/**
 * A 2xx response whose body the transform must see. Undefined: it passes unchanged, as every other status does, and a
 * content type that no transform applies to when `otherwise` is `pass`. Throws `bad_gateway` for one that is too large,
 * whose content type is ambiguous, or that has a body of another type: it fails closed (completions §7).
 */
export const collectible = (
  head: Head,
  status: string | undefined,
  otherwise: StoredProxy['responseOtherwise'],
  bodyLimit: number,
): CollectedResponse | undefined => {
  if (status === undefined || !/^2\d\d$/.test(status)) return undefined
  let shape: Shape | undefined
  try {
    shape = shapeOf(head.get('content-type')?.join(', '))
  } catch {
    throw unusable("The destination's response has several content types, so its transform cannot run.")
  }
  const declared = head.get('content-length')?.[0]
  const length = Number(declared ?? 0)
  if (shape === undefined) {
    if (otherwise === 'pass' || declared === '0') return undefined
    if (length > 0 || head.has('content-type')) throw notTransformable()
  }
  if (length > bodyLimit) throw responseTooLarge(bodyLimit)
  return { head, shape }
}

export const responseTooLarge = (limit: number) =>
  unusable(`The destination's response is larger than the ${limit} bytes that a transform may take.`)

/** Errors of a request's body are here errors of the destination's response. */
const REASONS: Readonly<Record<string, string>> = {
  malformed: "The destination's response is not what its headers say, so its transform cannot run.",
  unsupported_media_type: "The destination's response has a content-encoding that cannot be undone.",
  too_large: "The destination's response is larger than a transform may take or return.",
}

/** Runs the response transform. Rejects with `bad_gateway` for a response it cannot run on, else as `runTransform`. */
export const transformResponse = async (
  { head, shape }: CollectedResponse,
  bytes: Buffer,
  run: TransformRun,
): Promise<Transformed> => {
  if (shape === undefined) throw notTransformable()
  const contentEncoding = head.get('content-encoding')?.join(', ')
  try {
    const plain = await plainBody({ bytes, contentType: undefined, contentEncoding }, run.limits)
    const body = await inOwnTurn(() => asUtf8(head.get('content-type')?.[0], plain))
    const { edits, body: result } = await runTransform('response_transform', { head, shape, body }, run)
    return { edits: withoutCoding(edits, contentEncoding), body: result }
  } catch (thrown) {
    const reason = thrown instanceof AppError ? REASONS[thrown.code] : undefined
    throw reason === undefined ? thrown : unusable(reason)
  }
}
