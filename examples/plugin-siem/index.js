import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { definePlugin, Secret, Type } from 'sidevault/sdk'
import { eventOf } from './ocsf.js'

const compress = promisify(gzip)

/** Longest `Retry-After` that is honored: after 5 min, the service calls a failed consumer again, too. */
const MAX_PAUSE_MS = 5 * 60_000

const Config = Type.Object(
  {
    // A URL with credentials would be quoted by errors.
    url: Type.String({ pattern: '^https?://[^@\\s]+$' }),
    token: Type.Optional(Type.String({ pattern: '^[!-~]+$', description: 'Secret.' })),
    scheme: Type.String({ pattern: '^[A-Za-z-]+$', default: 'Bearer' }),
    batch: Type.Integer({ minimum: 1, maximum: 500, default: 500 }),
    from: Type.Enum(['now', 'start'], { default: 'now' }),
  },
  { additionalProperties: false },
)

/** ms that the response asks to wait: seconds or a date (RFC 9110, section 10.2.3), or 0. */
const pauseOf = ({ headers }) => {
  const value = headers.get('retry-after') ?? ''
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now()
  return ms > 0 ? Math.min(ms, MAX_PAUSE_MS) : 0
}

/** Sends records in their order, and resolves when the collector has accepted all of them. */
const createSend = ({ url, token, scheme, batch }) => {
  const secret = token && new Secret(token)
  let pausedUntil = 0

  const post = async (records, signal) => {
    const lines = records.map((record) => `${JSON.stringify(eventOf(record))}\n`)
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
        ...(secret && { authorization: `${scheme} ${secret.reveal()}` }),
      },
      body: await compress(lines.join('')),
      // Another address would get the token.
      redirect: 'manual',
      signal,
    })
    await response.body?.cancel()
    if (response.ok) return
    pausedUntil = performance.now() + pauseOf(response)
    // The service logs the code of an error, not its message.
    const code = `COLLECTOR_${response.status}`
    throw Object.assign(new Error(`The collector responded with ${response.status}.`), { code })
  }

  return async (records, signal) => {
    const pause = pausedUntil - performance.now()
    if (pause > 0) await setTimeout(pause, undefined, { signal })
    for (let at = 0; at < records.length; at += batch) await post(records.slice(at, at + batch), signal)
  }
}

/** Sends the audit records of all tenants to a collector over HTTP, as OCSF events. README.md has its configuration. */
export const plugin = definePlugin({
  api: 1,
  name: 'siem',
  version: '1.0.0',
  config: Config,
  setup: ({ config }) => ({
    consumers: [{ name: 'events', from: config.from, handle: createSend(config) }],
  }),
})
