/** A response through the edge with how it ended, over HTTP/1.1 or HTTP/2. */
import { request as httpRequest } from 'node:http'
import { connect } from 'node:http2'
import { KEYS } from './egress.ts'

interface EndedResponse {
  /** 0: it had no headers. */
  readonly status: number
  readonly body: Buffer
  readonly trailers: Readonly<Record<string, unknown>>
  /** The client takes it for complete. */
  readonly isComplete: boolean
}

interface Options {
  readonly protocol: 'h1' | 'h2'
  readonly method?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Never rejects. */
export const endedResponse = (
  port: number,
  to: string,
  { protocol, method = 'POST', body = 'x', headers: more }: Options,
): Promise<EndedResponse> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    let status = 0
    let trailers: EndedResponse['trailers'] = {}
    const done = (isComplete: boolean) =>
      resolve({ status, body: Buffer.concat(chunks), trailers, isComplete })
    const headers = { 'svc-api-key': KEYS.private, 'svc-proxy-url': to, ...more }
    const sent = method === 'GET' || method === 'HEAD' ? undefined : body
    if (protocol === 'h1') {
      const request = httpRequest(
        { host: '127.0.0.1', port, path: '/proxy', method, headers },
        (response) => {
          status = response.statusCode ?? 0
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', () => {})
          response.on('close', () => {
            trailers = response.trailers
            done(response.complete)
          })
        },
      )
      request.on('error', () => done(false))
      request.end(sent)
      return
    }
    const session = connect(`http://127.0.0.1:${port}`)
    session.on('error', () => {})
    const stream = session.request({ ':method': method, ':path': '/proxy', ...headers })
    let isEnded = false
    stream.on('response', (head) => {
      status = Number(head[':status'])
    })
    stream.on('trailers', (got) => {
      trailers = got
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      isEnded = true
    })
    stream.on('error', () => {})
    stream.on('close', () => {
      session.destroy()
      done(isEnded && stream.rstCode === 0)
    })
    stream.end(sent)
  })
