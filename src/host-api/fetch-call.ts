import { AppError } from '../common/errors.ts'
import { isObject, type Json } from '../common/json.ts'
import type { OutboundRequest, OutboundResponse } from '../sdk/index.ts'

const wrong = (detail: string) => new AppError('invalid', `fetch needs a valid request: ${detail}.`)

const isPair = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string')

const bodyOf = (body: Json | undefined): string | Buffer | undefined => {
  if (body === undefined || body === null) return undefined
  if (typeof body === 'string') return body
  if (isObject(body) && typeof body.base64 === 'string') return Buffer.from(body.base64, 'base64')
  throw wrong('its body is neither text nor bytes')
}

/**
 * Parses a request of code: `{ url, method?, headers?: [name, value][], body?: text | { base64 }, redirect? }`. With
 * `redirect` `"follow"`, redirects are followed; `"follow-with-body"` also sends the body to another origin. Throws
 * `invalid`.
 */
export const requestOf = (input: Json): OutboundRequest => {
  if (!isObject(input) || typeof input.url !== 'string') throw wrong('it has no url')
  const { url, method = 'GET', headers = [], redirect } = input
  if (typeof method !== 'string') throw wrong('its method is not a string')
  if (!Array.isArray(headers) || !headers.every(isPair)) throw wrong('its headers are not a list of pairs')
  const body = bodyOf(input.body as Json | undefined)
  return {
    url,
    method,
    headers,
    ...(body === undefined ? {} : { body }),
    followRedirects: redirect === 'follow' || redirect === 'follow-with-body',
    allowCrossOriginBody: redirect === 'follow-with-body',
  }
}

/** A response as JSON for code: `{ url, status, statusText, redirected, headers: [name, value][], base64 }`. */
export const responseOf = ({ body, headers, ...response }: OutboundResponse): Json => ({
  ...response,
  headers: headers.map(([name, value]) => [name, value]),
  base64: body.toString('base64'),
})
