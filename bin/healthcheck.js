#!/usr/bin/env node
import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'

/**
 * Health check for containers: exit code 0 when the service on this machine returns 200 within 4 s for `/healthz`, or
 * for the path given (`/readyz`). Connects to the port of SIDEVAULT_LISTEN on loopback, or without an edge to that of
 * SIDEVAULT_API_LISTEN.
 */
const [path = '/healthz'] = process.argv.slice(2)
/** @param {string | undefined} address */
const portOf = (address) => Number(/:(\d+)$/.exec(address ?? '')?.[1] ?? 0)
const ports = [portOf(process.env.SIDEVAULT_LISTEN) || 8080, portOf(process.env.SIDEVAULT_API_LISTEN)].filter(
  Boolean,
)
const get = process.env.SIDEVAULT_TLS_CERT === undefined ? getPlain : getTls

/** @param {string} why */
const fail = (why) => {
  process.stderr.write(`${path}: ${why}\n`)
  process.exit(1)
}

const ask = () => {
  const port = ports.shift()
  // The certificate names the edge, not loopback. The request contains no secret.
  const request = get(
    { host: '127.0.0.1', port, path, timeout: 4_000, rejectUnauthorized: false },
    (response) => {
      if (response.statusCode !== 200) fail(`status ${response.statusCode}`)
      process.exit(0)
    },
  )
  request.on('timeout', () => fail('timeout after 4 s'))
  request.on('error', (error) => {
    if ('code' in error && error.code === 'ECONNREFUSED' && ports.length > 0) ask()
    else fail(error.message)
  })
}
ask()
