/**
 * The server of a shop: SIDEVAULT_BOOTSTRAP_KEY=<management key> node server.ts <Sidevault's URL> <provider's URL>.
 * Prints its origin.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

const [vault = '', provider = ''] = process.argv.slice(2)
const { SIDEVAULT_BOOTSTRAP_KEY: managementKey, SIDEVAULT_API_URL: api = vault } = process.env
if (!managementKey) throw new Error('Export SIDEVAULT_BOOTSTRAP_KEY: the management key.')

const CONTAINER = '/checkout/'
const ID = /^[\da-f-]{36}$/

const call = (url: string, key: string, body: object, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: { 'svc-api-key': key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

const makeApplication = async (body: object): Promise<string> => {
  const response = await call(`${api}/applications`, managementKey, body)
  if (response.status !== 201) throw new Error(await response.text())
  return ((await response.json()) as { key: string }).key
}

/** Lets the page of this session store a card in a container of its own, and read its mask. */
const authorize = async (privateKey: string, nonce: unknown) => {
  const container = `${CONTAINER}${randomUUID()}/`
  const rule = { description: 'Checkout', priority: 1, container, transform: 'mask' }
  const rules = [{ ...rule, permissions: ['token:create', 'token:read'] }]
  const response = await call(`${api}/sessions/authorize`, privateKey, { nonce, rules })
  return { status: response.status, body: response.ok ? { container } : { detail: 'not authorized' } }
}

/** Pays with a token: the value is put in on the way to the provider. The page sends an id, and no expression. */
const pay = async (privateKey: string, token: unknown) => {
  if (typeof token !== 'string' || !ID.test(token)) return { status: 400, body: { detail: 'no token' } }
  const body = { amount: 100, card: { number: `{{ ${token} | json: '$.number' }}` } }
  const headers = { 'svc-proxy-url': provider }
  const response = await call(`${vault}/proxy/v1/charges`, privateKey, body, headers)
  return { status: response.status, body: { status: response.ok ? 'paid' : 'declined', detail: 'declined' } }
}

const page = (name: string) => readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8')

const server = createServer()
await new Promise<void>((resolve) => server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', resolve))
const origin = `http://localhost:${(server.address() as AddressInfo).port}`

const publicKey = await makeApplication({
  name: 'Shop, pages',
  type: 'public',
  permissions: ['token:create'],
  allowed_origins: [origin],
})
const grants = { description: 'Checkout', container: CONTAINER }
const privateKey = await makeApplication({
  name: 'Shop, server',
  type: 'private',
  rules: [
    { ...grants, priority: 1, transform: 'mask', permissions: ['token:create', 'token:read'] },
    { ...grants, priority: 2, transform: 'reveal', permissions: ['token:use'] },
  ],
})

const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
  '/': ['text/html; charset=utf-8', page('index.html')],
  '/shop.js': ['text/javascript; charset=utf-8', stripTypeScriptTypes(page('shop.ts'))],
  '/settings': ['application/json', JSON.stringify({ vault, publicKey })],
}

const respond = async (request: IncomingMessage): Promise<{ status: number; body: object }> => {
  // A shop with accounts checks here whose page it is.
  if (request.headers.origin !== origin) return { status: 403, body: { detail: 'not a page of this shop' } }
  const { nonce, token } = (await json(request)) as { nonce?: unknown; token?: unknown }
  if (request.url === '/authorize') return authorize(privateKey, nonce)
  if (request.url === '/pay') return pay(privateKey, token)
  return { status: 404, body: { detail: 'not found' } }
}

server.on('request', async (request, response) => {
  response.setHeader(
    'content-security-policy',
    `default-src 'self'; connect-src 'self' ${new URL(vault).origin}`,
  )
  const file = request.method === 'GET' ? files[request.url ?? ''] : undefined
  if (file !== undefined) {
    response.setHeader('content-type', file[0]).end(file[1])
    return
  }
  const { status, body } = await respond(request).catch(() => ({ status: 500, body: { detail: 'failed' } }))
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
})
process.stdout.write(`${origin}\n`)
