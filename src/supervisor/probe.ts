import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'
import { text } from 'node:stream/consumers'

const TIMEOUT_MS = 2_000

/** Response to `GET /readyz` of a listener of this machine. Undefined if there is none. */
export const getReadiness = (
  url: string,
  timeout = TIMEOUT_MS,
): Promise<{ readonly status: number; readonly body: string } | undefined> =>
  new Promise((resolve) => {
    const options = { agent: false, timeout }
    // Our own listener on this machine: its certificate may have any name.
    const request = url.startsWith('https:')
      ? getTls(`${url}/readyz`, { ...options, rejectUnauthorized: false })
      : getPlain(`${url}/readyz`, options)
    request.on('response', (response) => {
      text(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, body }),
        () => resolve(undefined),
      )
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(undefined))
  })
