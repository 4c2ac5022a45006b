import { createServer } from 'node:http'
import t from 'tap'
import { listenFor } from '../../kit/listen.ts'
import { callFetch, runRealm, sameAsNode } from './kit.ts'

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const { url = '/', method, headers } = request
  if (url === '/moved') return response.writeHead(302, { location: '/echo' }).end()
  if (url === '/none') return response.writeHead(204).end()
  if (url === '/bytes') return response.end(Buffer.from([0, 255, 128]))
  if (url === '/text') return response.writeHead(500, { 'content-type': 'text/plain' }).end('brökeñ')
  if (url === '/slow') return
  response.writeHead(
    200,
    [
      ['content-type', 'application/json'],
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['x-list', 'a, b'],
    ].flat(),
  )
  const { 'content-type': type = null, 'x-own': own = null, authorization = null } = headers
  response.end(
    JSON.stringify({ url, method, type, own, authorization, body: Buffer.concat(chunks).toString('base64') }),
  )
})
const base = `http://127.0.0.1:${await listenFor(t, server)}`
const options = { argument: { base }, call: callFetch }

sameAsNode(
  t,
  'fetch sends bodies of every kind and reads responses',
  async ({ base }: { base: string }) => {
    const post = async (body: unknown, headers = {}) =>
      (await fetch(`${base}/echo?q=1`, { method: 'post', body: body as string, headers })).json()
    const response = await fetch(new URL('/echo', base), { headers: { 'X-Own': 'yes' } })
    return [
      await post('text é'),
      await post(JSON.stringify({ a: 1 }), { 'content-type': 'application/json' }),
      await post(new URLSearchParams({ a: '1 2', b: 'é' })),
      await post(Buffer.from([0, 255])),
      await post(new Uint8Array([1, 2]).buffer),
      [
        response.status,
        response.ok,
        response.statusText,
        response.headers.get('Content-Type'),
        response.headers.get('x-list'),
        response.redirected,
      ],
      response.headers.getSetCookie(),
      response.url === `${base}/echo`,
      await response.json(),
      response.bodyUsed,
      await response.text().catch((error: Error) => error.name),
    ]
  },
  options,
)

sameAsNode(
  t,
  'responses with an error status, without a body, of bytes, and redirected',
  async ({ base }: { base: string }) => {
    const broken = await fetch(`${base}/text`)
    const none = await fetch(`${base}/none`)
    const bytes = await fetch(`${base}/bytes`)
    const moved = await fetch(`${base}/moved`)
    const manual = await fetch(`${base}/moved`, { redirect: 'manual' })
    return [
      [broken.ok, broken.status, await broken.text()],
      [none.status, await none.text()],
      [...new Uint8Array(await bytes.arrayBuffer())],
      [moved.status, moved.redirected, ((await moved.json()) as { method: string }).method],
      [manual.status, manual.headers.get('location')],
    ]
  },
  options,
)

sameAsNode(t, 'Headers, Request and Response work without fetch', async () => {
  const headers = new Headers({ 'X-B': '1', a: ' 2 ' })
  headers.append('x-b', '3')
  headers.set('c', '4')
  headers.delete('a')
  const request = new Request('https://a.b/c', { method: 'post', body: 'x', headers })
  const response = Response.json({ a: 1 }, { status: 201 })
  const bad = (run: () => unknown) => {
    try {
      run()
      return 'fine'
    } catch (error) {
      return (error as Error).name
    }
  }
  return [
    [...headers],
    headers.has('X-B'),
    [
      request.method,
      request.url,
      request.headers.get('content-type'),
      await request.clone().text(),
      await request.text(),
    ],
    [
      response.status,
      response.headers.get('content-type'),
      await response.clone().json(),
      await response.json(),
    ],
    bad(() => new Headers({ 'a b': '1' })),
    bad(() => new Headers({ a: 'x\ny' })),
    bad(() => new Request('nope')),
    bad(() => new Request('http://a.b', { body: 'x' })),
  ]
})

sameAsNode(
  t,
  'requests are cancelled by a signal',
  async ({ base }: { base: string }) => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 10)
    const before = await fetch(base, { signal: AbortSignal.abort() }).catch((error: Error) => error.name)
    const during = await fetch(`${base}/slow`, { signal: controller.signal }).catch(
      (error: Error) => error.name,
    )
    return [before, during]
  },
  options,
)

sameAsNode(
  t,
  'http.request and http.get',
  async ({ base }: { base: string }) => {
    const http = require('node:http')
    type Message = import('node:http').IncomingMessage
    const read = (message: Message) =>
      new Promise<string>((resolve) => {
        let text = ''
        message.setEncoding('utf8')
        message.on('data', (chunk: string) => {
          text += chunk
        })
        message.on('end', () => resolve(text))
      })
    const send = (options: object, body?: string) =>
      new Promise<Message>((resolve, reject) => {
        const request = http.request(options, resolve)
        request.on('error', reject)
        if (body !== undefined) request.write(body)
        request.end()
      })
    const { hostname, port } = new URL(base)
    const posted = await send(
      {
        hostname,
        port,
        path: '/echo?x=1',
        method: 'POST',
        auth: 'u:p',
        headers: { 'Content-Type': 'text/plain', 'X-Own': 'me' },
      },
      'bödy',
    )
    const got = await new Promise<Message>((resolve) => http.get(`${base}/text`, resolve))
    const rejected = await send({ hostname, port: 1 }).catch((error: Error) => error instanceof Error)
    return [
      posted.statusCode,
      posted.headers['set-cookie'],
      posted.headers['content-type'],
      JSON.parse(await read(posted)),
      got.statusCode,
      await read(got),
      rejected,
      http.STATUS_CODES[404],
    ]
  },
  options,
)

t.test('node-fetch behaves as fetch, with its own errors', async (t) => {
  const { result } = await runRealm(
    `const fetch = require('node-fetch')
    const { Headers, FetchError } = fetch
    module.exports = async ({ base }) => {
      const response = await fetch(base + '/echo', { method: 'POST', body: 'x', headers: new Headers({ 'x-own': 'y' }) })
      const buffer = await (await fetch.default(base + '/bytes')).buffer()
      const failed = await fetch(base + '/gone').catch((error) => [error.name, error instanceof FetchError, error.message])
      return [(await response.json()).own, response.headers.raw()['x-list'], buffer.length, failed]
    }`,
    {
      ...options,
      call: async (name, input) => {
        if ((input as { url: string }).url.endsWith('/gone')) throw new TypeError('fetch failed')
        return callFetch(name, input)
      },
    },
  )
  t.same(result, ['y', ['a, b'], 3, ['FetchError', true, 'fetch failed']])
})
