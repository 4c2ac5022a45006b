/** `fetch`, under the egress rules of proxied requests. */
import { Blob, File } from './blob.ts'
import { ReceivedBody } from './body.ts'
import { FormData } from './form-data.ts'
import { Headers } from './headers.ts'
import { Request, type RequestInit, Response } from './request.ts'
import { send } from './send.ts'

const EMPTY = [204, 205, 304]

const fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
  const request = new Request(input, init)
  const result = await send(request)
  const redirected = result.status >= 300 && result.status < 400 && result.status !== 304
  if (request.redirect === 'error' && redirected) throw new TypeError('fetch failed: unexpected redirect')
  const body = EMPTY.includes(result.status)
    ? undefined
    : ({ kind: 'base64', base64: result.base64 } as const)
  return Response.received(new ReceivedBody(body), result, result)
}

export const builtin = { fetch, Headers, Request, Response, Blob, File, FormData }
