import type { IncomingHttpHeaders } from 'node:http'

const HOST = /^[A-Za-z0-9.-]{1,253}(?::\d{1,5})?$|^\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?$/

/** The public base URL: as configured, else from the host and scheme that Envoy forwarded. */
export const baseUrlOf = (headers: IncomingHttpHeaders, configured: string | undefined): string => {
  if (configured !== undefined) return configured.replace(/\/+$/, '')
  const host = headers.host !== undefined && HOST.test(headers.host) ? headers.host : 'localhost'
  const scheme = headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'
  return `${scheme}://${host}`
}
