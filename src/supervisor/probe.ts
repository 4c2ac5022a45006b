import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'

const TIMEOUT_MS = 2_000

/** Status of `GET /readyz` through the edge; undefined when nothing answers. */
export const probe = (url: string): Promise<number | undefined> =>
  new Promise((resolve) => {
    const options = { agent: false, timeout: TIMEOUT_MS }
    const done = (status: number | undefined) => resolve(status)
    // our own listener on this machine, whatever name its certificate has
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
