#!/usr/bin/env node
import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'

/**
 * For containers: exit code 0 when the service of this machine answers `/healthz`, or the path given (`/readyz`), with 200
 * within 4 s. Asks the address of SIDEVAULT_LISTEN on loopback, so that nothing but loopback needs to be listened on.
 */
const [path = '/healthz'] = process.argv.slice(2)
const port = Number(/:(\d+)$/.exec(process.env.SIDEVAULT_LISTEN ?? '')?.[1] ?? 8080)
const get = process.env.SIDEVAULT_TLS_CERT === undefined ? getPlain : getTls

/** @param {string} why */
const fail = (why) => {
  process.stderr.write(`${path}: ${why}\n`)
  process.exit(1)
}

// The certificate names the edge, not loopback, and nothing is sent that anybody could want.
const request = get(
  { host: '127.0.0.1', port, path, timeout: 4_000, rejectUnauthorized: false },
  (response) => {
    if (response.statusCode !== 200) fail(`answered ${response.statusCode}`)
    process.exit(0)
  },
)
request.on('timeout', () => fail('no answer within 4 s'))
request.on('error', ({ message }) => fail(message))
