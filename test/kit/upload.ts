import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:http2'
import { KEYS, type Responded } from './egress.ts'

export interface UploadOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly protocol?: 'h1' | 'h2'
  readonly trailers?: Readonly<Record<string, string>>
  /** Called with the length of each chunk that was accepted. */
  readonly onSent?: (bytes: number) => void
  readonly signal?: AbortSignal
}

const responded = (status: number, headers: Responded['headers'], chunks: readonly Buffer[]): Responded => {
  const text = Buffer.concat(chunks).toString()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {}
  return { status, headers, text, json }
}

/** POST /proxy with a body in chunks, each sent after the previous one was accepted. Resolves with the response. */
export const upload = async (
  port: number,
  to: string,
  body: Iterable<string | Buffer> | AsyncIterable<string | Buffer>,
  { headers = {}, protocol = 'h1', trailers, onSent, signal }: UploadOptions = {},
): Promise<Responded> => {
  const own = { 'svc-api-key': KEYS.private, 'svc-proxy-url': to, 'svc-proxy-stream': 'true', ...headers }
  const session = protocol === 'h2' ? connect(`http://127.0.0.1:${port}`) : undefined
  const stream =
    session === undefined
      ? httpRequest({ host: '127.0.0.1', port, path: '/proxy', method: 'POST', headers: own })
      : session.request(
          { ':method': 'POST', ':path': '/proxy', ...own },
          { waitForTrailers: trailers !== undefined, endStream: false },
        )
  if (session !== undefined && trailers !== undefined && 'sendTrailers' in stream)
    stream.on('wantTrailers', () => stream.sendTrailers({ ...trailers }))
  session?.on('error', () => {})
  signal?.addEventListener('abort', () => stream.destroy())
  let over = false
  const received = new Promise<Responded>((resolve, reject) => {
    const chunks: Buffer[] = []
    stream.on('error', reject)
    stream.on('close', () => {
      over = true
      reject(new Error('closed without a response'))
    })
    if ('sendTrailers' in stream) {
      let status = 0
      let received: Responded['headers'] = {}
      stream.on('response', (more) => {
        status = more[':status'] ?? 0
        received = more as Responded['headers']
      })
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (status > 0) resolve(responded(status, received, chunks))
      })
    } else
      stream.on('response', (response) => {
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => resolve(responded(response.statusCode ?? 0, response.headers, chunks)))
      })
  })
  received
    .catch(() => {})
    .finally(() => {
      over = true
    })
  const send = async () => {
    for await (const chunk of body) {
      if (over) return
      if (!stream.write(chunk)) await Promise.race([once(stream, 'drain'), received])
      onSent?.(chunk.length)
    }
    stream.end()
  }
  send().catch(() => {})
  try {
    return await received
  } finally {
    stream.destroy()
    session?.destroy()
  }
}
