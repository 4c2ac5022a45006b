import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'

const TIMEOUT_MS = 2_000

/** Status of `GET /readyz` through the edge. Undefined if there is no response. */
export const probe = (url: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    const options = { agent: false, timeout: TIMEOUT_MS }
    const done = (status: number | undefined) => resolve(status)
    // Our own listener on this machine: its certificate may have any name.
    const request = url.startsWith('https:')
      ? getTls(`${url}/readyz`, { ...options, rejectUnauthorized: false })
      : getPlain(`${url}/readyz`, options)
    request.on('response', (response) => {
      response.resume()
      done(response.statusCode)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => done(undefined))
  })
