import { createServer, type IncomingMessage } from 'node:http'
import { listenFor } from '../../kit/listen.ts'

const read = async (request: IncomingMessage) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** An API as those that transforms call. */
const respond = (
  url: URL,
  body: string,
  { authorization, 'content-type': type = '' }: IncomingMessage['headers'],
): readonly [status: number, value: unknown] => {
  const [, area, name = ''] = url.pathname.split('/')
  switch (area) {
    case 'oauth':
      return new URLSearchParams(body).get('client_secret') === 's e&c'
        ? [200, { token_type: 'Bearer', access_token: 'granted' }]
        : [401, { error: 'invalid_client' }]
    case 'profile':
      return authorization === 'Bearer granted' ? [200, { name: decodeURIComponent(name) }] : [403, {}]
    case 'flaky':
      return Number(url.searchParams.get('attempt')) < 3 ? [503, {}] : [200, { name }]
    case 'item':
      return name === '404' ? [404, {}] : [200, { name: `item ${name}` }]
    case 'echo':
      return [200, JSON.parse(body)]
    case 'form':
      return [200, { data: body.replaceAll(type.split('boundary=')[1] ?? '', 'boundary') }]
    case 'decline':
      return [402, { reason: 'do_not_honor', seen: body.length }]
    default:
      return [404, {}]
  }
}

export const openDestination = async (t: { teardown(end: () => void): void }): Promise<string> => {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://destination')
    const [status, value] = respond(url, await read(request), request.headers)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  })
  return `http://127.0.0.1:${await listenFor(t, server)}`
}
