import type { Static } from 'typebox'
import {
  checkApplication,
  checkConfiguration,
  checkDestination,
  checkInterceptingCode,
  codeWarnings,
  differByName,
  parseSurfaces,
} from '#kit'
import type { Caller, CodeWarning, PluginContext } from '#sdk'
import type { ProxyRecord } from './collections.ts'
import { parseDestinationTls, type StoredTls } from './destination-tls.ts'
import { bindingOf } from './intercept.ts'
import type { ProxyCode, ProxyInput } from './schemas.ts'

/** The members of a proxy that callers set, in stored form. */
type ProxyMembers = Pick<
  ProxyRecord,
  | 'name'
  | 'destination_url'
  | 'require_auth'
  | 'request_transform'
  | 'response_transform'
  | 'application_id'
  | 'configuration'
  | 'destination_tls'
  | 'evaluate'
  | 'intercept'
  | 'bound_host'
  | 'binding'
  | 'request_reactor_id'
  | 'response_reactor_id'
  | 'response_guard'
>

/** `{}` means none. */
const codeOf = (transform: { readonly code?: string | null } | null | undefined): string | undefined =>
  transform?.code ? transform.code : undefined

/** The code of a request by the paths of its members. */
export const codeMembers = ({ request_transform, response_transform }: Static<typeof ProxyCode>) => ({
  'request_transform.code': codeOf(request_transform),
  'response_transform.code': codeOf(response_transform),
})

const otherwiseOf = ({ response_transform: transform }: Static<typeof ProxyInput>) =>
  transform?.otherwise ? { otherwise: transform.otherwise } : {}

/** The members of a valid request in stored form, with warnings about their code. Throws `invalid`, `forbidden`. */
export const parseProxy = async (
  context: PluginContext,
  caller: Caller,
  input: Static<typeof ProxyInput>,
  { now, before }: { readonly now: number; readonly before?: ProxyRecord },
): Promise<{ readonly members: ProxyMembers; readonly warnings: CodeWarning[] }> => {
  checkConfiguration(input.configuration ?? {})
  checkDestination(context, 'destination_url', input.destination_url)
  const { destination_url: url } = input
  const evaluate = input.evaluate && parseSurfaces(input.evaluate, context.headerPrefixes)
  const destination_tls =
    input.destination_tls &&
    parseDestinationTls(input.destination_tls, { now, url, before: before?.destination_tls })
  const change = { from: before && inputOf(before), to: input }
  if (input.application) await checkApplication(context, caller, input.application.id, change)
  const [request, response] = [codeOf(input.request_transform), codeOf(input.response_transform)]
  const hasCode = request !== undefined || response !== undefined
  if (input.intercept && hasCode && !(change.from && differByName(change.from, input)))
    await checkInterceptingCode(context, caller)
  const warnings = await codeWarnings(context, caller.tenantId, codeMembers(input))
  return {
    members: {
      name: input.name,
      destination_url: input.destination_url,
      require_auth: input.require_auth ?? true,
      ...(request === undefined ? {} : { request_transform: { code: request } }),
      ...(response === undefined ? {} : { response_transform: { code: response, ...otherwiseOf(input) } }),
      ...(input.application ? { application_id: input.application.id } : {}),
      ...(input.configuration ? { configuration: input.configuration } : {}),
      ...(destination_tls ? { destination_tls } : {}),
      ...(evaluate ? { evaluate } : {}),
      ...(input.intercept ? bindingOf(input.destination_url) : {}),
      ...(input.request_reactor_id ? { request_reactor_id: input.request_reactor_id } : {}),
      ...(input.response_reactor_id ? { response_reactor_id: input.response_reactor_id } : {}),
      ...(input.response_guard ? { response_guard: input.response_guard } : {}),
    },
    warnings,
  }
}

const withoutId = ({ id: _, ...members }: StoredTls) => members

/** A stored proxy as the request that creates it: the target of a merge patch. */
export const inputOf = (proxy: ProxyRecord): Static<typeof ProxyInput> => ({
  name: proxy.name,
  destination_url: proxy.destination_url,
  require_auth: proxy.require_auth,
  ...(proxy.request_transform ? { request_transform: proxy.request_transform } : {}),
  ...(proxy.response_transform ? { response_transform: proxy.response_transform } : {}),
  ...(proxy.application_id ? { application: { id: proxy.application_id } } : {}),
  ...(proxy.configuration ? { configuration: proxy.configuration } : {}),
  ...(proxy.destination_tls ? { destination_tls: withoutId(proxy.destination_tls) } : {}),
  ...(proxy.evaluate ? { evaluate: [...proxy.evaluate] } : {}),
  ...(proxy.intercept ? { intercept: true } : {}),
  ...(proxy.request_reactor_id ? { request_reactor_id: proxy.request_reactor_id } : {}),
  ...(proxy.response_reactor_id ? { response_reactor_id: proxy.response_reactor_id } : {}),
  ...(proxy.response_guard ? { response_guard: proxy.response_guard } : {}),
})
