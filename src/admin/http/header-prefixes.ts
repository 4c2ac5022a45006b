import type { IncomingHttpHeaders } from 'node:http'
import { parseTraceparent, TRACEPARENT, type TraceContext } from '../../common/trace-context.ts'
import { traceIdFor } from '../../common/trace-id.ts'

/** Header names of one prefix (completions §1). */
interface HeaderPrefix {
  readonly apiKey: string
  readonly traceId: string
  readonly idempotencyKey: string
  /** Spelling in responses. */
  readonly traceIdName: string
}

const prefixOf = (prefix: string): HeaderPrefix => {
  const name = prefix.toLowerCase()
  return {
    apiKey: `${name}-api-key`,
    traceId: `${name}-trace-id`,
    idempotencyKey: `${name}-idempotency-key`,
    traceIdName: `${prefix}-TRACE-ID`,
  }
}

/** The header of draft-ietf-httpapi-idempotency-key-header. Its value is taken as it is sent. */
const IDEMPOTENCY_KEY = 'idempotency-key'

/** Header of a response that is repeated from an idempotency record. */
export const REPLAYED_HEADER = 'idempotent-replayed'

/** The prefixed headers of a request. */
export interface PrefixedHeaders {
  readonly key: string | undefined
  readonly traceId: string
  /** The caller's span. */
  readonly parent: TraceContext | undefined
  /** Values of the prefixed and the plain header: two when they differ. */
  readonly idempotencyKeys: readonly string[]
  /** `If-Match` as sent. */
  readonly ifMatch: string | undefined
  /** Name of the trace id header in the response. */
  readonly traceIdName: string
}

const single = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)

/**
 * Reads the headers under each configured prefix. The response has the first configured prefix that the request
 * used, else the canonical one. Throws when no prefix is configured.
 */
export const createHeaderPrefixes = (
  prefixes: readonly string[],
): ((headers: IncomingHttpHeaders) => PrefixedHeaders) => {
  const all = prefixes.map(prefixOf)
  const canonical = all[0]
  if (canonical === undefined) throw new Error('at least one header prefix must be configured')
  return (headers) => {
    let used: HeaderPrefix | undefined
    let key: string | undefined
    let traceId: string | undefined
    let idempotencyKey: string | undefined
    for (const prefix of all) {
      const ownKey = single(headers[prefix.apiKey])
      const ownTraceId = single(headers[prefix.traceId])
      const ownIdempotencyKey = single(headers[prefix.idempotencyKey])
      key ??= ownKey
      traceId ??= ownTraceId
      idempotencyKey ??= ownIdempotencyKey
      if ((ownKey ?? ownTraceId ?? ownIdempotencyKey) !== undefined) used ??= prefix
    }
    const parent = parseTraceparent(single(headers[TRACEPARENT]))
    const plainIdempotencyKey = single(headers[IDEMPOTENCY_KEY])
    return {
      key,
      traceId: traceIdFor(traceId, parent),
      parent,
      idempotencyKeys: [
        ...(idempotencyKey === undefined ? [] : [idempotencyKey]),
        ...(plainIdempotencyKey === undefined || plainIdempotencyKey === idempotencyKey
          ? []
          : [plainIdempotencyKey]),
      ],
      ifMatch: headers['if-match'],
      traceIdName: (used ?? canonical).traceIdName,
    }
  }
}
