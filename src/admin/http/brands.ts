import type { IncomingHttpHeaders } from 'node:http'
import { newId } from '../../common/ids.ts'

/** Header names of one brand prefix (completions §1). */
export interface Brand {
  readonly apiKey: string
  readonly traceId: string
  readonly idempotencyKey: string
  /** As answers spell it. */
  readonly traceIdName: string
  readonly names: readonly string[]
}

const brandOf = (prefix: string): Brand => {
  const name = prefix.toLowerCase()
  return {
    apiKey: `${name}-api-key`,
    traceId: `${name}-trace-id`,
    idempotencyKey: `${name}-idempotency-key`,
    traceIdName: `${prefix}-TRACE-ID`,
    names: [`${name}-api-key`, `${name}-trace-id`, `${name}-idempotency-key`],
  }
}

/** What a request's brand headers say. */
export interface BrandHeaders {
  readonly key: string | undefined
  readonly traceId: string
  readonly idempotencyKey: string | undefined
  /** Name of the header that carries the trace id of the answer. */
  readonly traceIdName: string
}

const PRINTABLE = /^[\x20-\x7e]{1,200}$/

const single = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)

/**
 * Reads the headers under every configured prefix. The answer's brand is the first configured one that the request
 * used, else the canonical one. Throws when no prefix is configured.
 */
export const createBrands = (
  prefixes: readonly string[],
): ((headers: IncomingHttpHeaders) => BrandHeaders) => {
  const brands = prefixes.map(brandOf)
  const canonical = brands[0]
  if (canonical === undefined) throw new Error('at least one header prefix must be configured')
  return (headers) => {
    const used = brands.find((brand) => brand.names.some((name) => headers[name] !== undefined)) ?? canonical
    let key: string | undefined
    let traceId: string | undefined
    let idempotencyKey: string | undefined
    for (const brand of brands) {
      key ??= single(headers[brand.apiKey])
      traceId ??= single(headers[brand.traceId])
      idempotencyKey ??= single(headers[brand.idempotencyKey])
    }
    return {
      key,
      traceId: traceId !== undefined && PRINTABLE.test(traceId) ? traceId : newId(),
      idempotencyKey,
      traceIdName: used.traceIdName,
    }
  }
}
