#!/usr/bin/env node
import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'

/**
 * Health check for containers: exit code 0 when the service on this machine returns 200 within 4 s for `/healthz`, or
 * for the path given (`/readyz`). Connects to the port of SIDEVAULT_LISTEN on loopback.
 */
const [path = '/healthz'] = process.argv.slice(2)
const port = Number(/:(\d+)$/.exec(process.env.SIDEVAULT_LISTEN ?? '')?.[1] ?? 8080)
const get = process.env.SIDEVAULT_TLS_CERT === undefined ? getPlain : getTls

/** @param {string} why */
const fail = (why) => {
  process.stderr.write(`${path}: ${why}\n`)
  process.exit(1)
}

// The certificate names the edge, not loopback. The request contains no secret.
const request = get(
  { host: '127.0.0.1', port, path, timeout: 4_000, rejectUnauthorized: false },
  (response) => {
    if (response.statusCode !== 200) fail(`status ${response.statusCode}`)
    process.exit(0)
  },
)
request.on('timeout', () => fail('timeout after 4 s'))
request.on('error', ({ message }) => fail(message))
