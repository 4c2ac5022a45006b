#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { get as getPlain } from 'node:http'
import { get as getTls } from 'node:https'

/**
 * Health check for containers: exit code 0 when the service on this machine returns 200 within 4 s for `/healthz`, or
 * for the path given (`/readyz`). Connects to the address of SIDEVAULT_LISTEN, on loopback where that means all
 * addresses, or without an edge to that of SIDEVAULT_API_LISTEN; with SIDEVAULT_OPS_LISTEN to that only. Variables take
 * precedence over the file of SIDEVAULT_CONFIG.
 */
const [path = '/healthz'] = process.argv.slice(2)
const { SIDEVAULT_CONFIG, SIDEVAULT_LISTEN, SIDEVAULT_API_LISTEN, SIDEVAULT_OPS_LISTEN, SIDEVAULT_TLS_CERT } =
  process.env

/** @param {string} why @returns {never} */
const fail = (why) => {
  process.stderr.write(`${path}: ${why}\n`)
  process.exit(1)
}

/** @returns {Promise<Record<string, string | undefined>>} */
const readConfig = async () => {
  if (!SIDEVAULT_CONFIG) return {}
  try {
    const { parse } = await import('yaml')
    return parse(readFileSync(SIDEVAULT_CONFIG, 'utf8'), { logLevel: 'error' }) ?? {}
  } catch {
    // Messages of the parser quote the text.
    return fail('the file of SIDEVAULT_CONFIG cannot be read')
  }
}
const file = await readConfig()

/** @param {string} host */
const reachable = (host) => {
  if (host === '0.0.0.0' || host === 'localhost') return '127.0.0.1'
  return /^[0:]+$/.test(host) ? '::1' : host
}
/** @param {string | undefined} address */
const targetOf = (address) => {
  const [, ipv6, host = ipv6, port] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(address ?? '') ?? []
  return host === undefined || Number(port) === 0 ? undefined : { host: reachable(host), port: Number(port) }
}
const edge = targetOf(SIDEVAULT_LISTEN || file.listen) ?? { host: '127.0.0.1', port: 8080 }
const api = targetOf(SIDEVAULT_API_LISTEN || file.api_listen)
const ops = targetOf(SIDEVAULT_OPS_LISTEN || file.ops_listen)
const targets = ops !== undefined ? [ops] : api === undefined ? [edge] : [edge, api]
const get = SIDEVAULT_TLS_CERT || file.tls_cert ? getTls : getPlain

const ask = () => {
  // The certificate names the edge, not this address. The request contains no secret.
  const request = get({ ...targets.shift(), path, timeout: 4_000, rejectUnauthorized: false }, (response) => {
    if (response.statusCode !== 200) fail(`status ${response.statusCode}`)
    process.exit(0)
  })
  request.on('timeout', () => fail('timeout after 4 s'))
  request.on('error', (error) => {
    if ('code' in error && error.code === 'ECONNREFUSED' && targets.length > 0) ask()
    else fail(error.message)
  })
}
ask()
