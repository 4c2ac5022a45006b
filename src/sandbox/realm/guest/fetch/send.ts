/** Sends requests through the service. */

import { Buffer } from 'node:buffer'
import { callAsync } from '../bridge.ts'
import { whenAborted } from '../builtins/event-target.ts'
import { latin1 } from '../latin1.ts'
import type { Stored } from './body.ts'
import type { Request } from './request.ts'

export interface Result {
  readonly url: string
  readonly status: number
  readonly statusText: string
  readonly redirected: boolean
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly base64: string
}

const wireBody = (stored: Stored | undefined): { readonly body?: unknown } => {
  if (stored === undefined) return {}
  if (stored.kind === 'text') return { body: stored.text }
  const base64 =
    stored.kind === 'base64' ? stored.base64 : Buffer.from(latin1(stored.bytes), 'latin1').toString('base64')
  return { body: { base64 } }
}

/** Response of the destination. Rejects when it is unreachable, or the request's signal is aborted. */
export const send = async (request: Request): Promise<Result> => {
  const { url, method, redirect, signal } = request
  signal.throwIfAborted()
  const result = callAsync<Result>('fetch', {
    url,
    method,
    redirect,
    headers: request.headers.pairs(),
    ...wireBody(request.stored()),
  })
  const { aborted, stop } = whenAborted(signal)
  try {
    return await Promise.race([result, aborted])
  } finally {
    stop()
  }
}
