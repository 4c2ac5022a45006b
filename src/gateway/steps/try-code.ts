/** The code of a stored proxy in a dry run, on masked values and without effects (../README.md, "Dry runs"). */
import type { AppError } from '../../common/errors.ts'
import { prefixHeaders } from '../../ext-proc/contract.ts'
import type { StoredProxy } from '../../sdk/index.ts'
import { type DryRunResponse, dryRunResponse } from '../dry-run/response.ts'
import {
  type DryRunTransform,
  dryRunTransform,
  type TransformPlan,
  withoutConfiguration,
} from '../dry-run/transform.ts'
import type { Resolved } from '../request.ts'
import type { RequestContext } from '../request-context.ts'
import { shapeOf } from '../transform/content.ts'
import type { Masked } from './preview.ts'
import { codeRunOf, requestMessage } from './transform.ts'

interface Tried extends Masked {
  /** Absent: the proxy has no request transform. */
  readonly transform: DryRunTransform | undefined
  /** Why the call would not be forwarded. */
  readonly error: AppError | undefined
}

export interface TriedResponse extends Tried {
  readonly response: {
    readonly response_transform?: TransformPlan
    readonly response?: DryRunResponse
  }
}

/** Private applications see no configuration of a proxy; their code gets names in the place of the values. */
export const isConfigurationHidden = ({ caller, proxy }: Resolved): boolean =>
  caller.applicationType === 'private' && Object.keys(proxy?.configuration ?? {}).length > 0

const shownProxy = (request: Resolved, proxy: StoredProxy): StoredProxy =>
  isConfigurationHidden(request) ? withoutConfiguration(proxy) : proxy

const tried = async (request: Masked, context: RequestContext): Promise<DryRunTransform | undefined> => {
  const { proxy, contentType, rejection, masked, before } = request
  if (proxy?.requestTransform === undefined) return undefined
  const without = (reason: string) => ({ plan: { ran: false, reason }, after: before })
  if (rejection !== undefined) return without('The call would be denied before.')
  const shape = shapeOf(contentType)
  if (shape === undefined) return without('The content type is neither JSON nor a form.')
  const settings = { ...codeRunOf(request, context), proxy: shownProxy(request, proxy) }
  return context.timed('transform', () =>
    dryRunTransform(
      'request_transform',
      requestMessage(request, shape, masked),
      settings,
      context.gateway.deps.runWithoutEffects,
    ),
  )
}

export const tryTransform = async (request: Masked, context: RequestContext): Promise<Tried> => {
  const transform = await tried(request, context)
  return { ...request, transform, error: request.rejection ?? transform?.error }
}

const noResponse = (prefix: string) =>
  `It runs on 2xx responses with JSON or a form, and a dry run has no response. Give it one in the header "${prefixHeaders(prefix).dryRunResponse}", as {"status":200,"headers":{},"body":{}}.`

/** The plan of the response transform, and its result for the response that the caller supplied, if it did. */
export const tryResponse = async (request: Tried, context: RequestContext): Promise<TriedResponse> => {
  const { proxy, fixture, error } = request
  const { deps, prefixes } = context.gateway
  if (proxy?.responseTransform === undefined) return { ...request, response: {} }
  if (fixture === undefined || error !== undefined) {
    const response_transform = { ran: false, reason: noResponse(prefixes.prefixes[0]) }
    return { ...request, response: { response_transform } }
  }
  const settings = { ...codeRunOf(request, context), proxy: shownProxy(request, proxy) }
  const { plan, response } = await context.timed('transform', () =>
    dryRunResponse(fixture, settings, deps.runWithoutEffects),
  )
  return { ...request, response: { response_transform: plan, response } }
}
