import { once } from 'node:events'
import { connect } from 'node:http2'
import { type CallOptions, KEYS, type Responded } from './egress.ts'

/** `call` of egress.ts over HTTP/2 with prior knowledge, on a connection of its own. */
export const callHttp2 = async (
  port: number,
  path: string,
  options: CallOptions = {},
): Promise<Responded> => {
  const { method = 'POST', body, to, key = KEYS.private } = options
  const session = connect(`http://127.0.0.1:${port}`)
  try {
    const stream = session.request(
      {
        ':method': method,
        ':path': path,
        ...(key === null ? {} : { 'svc-api-key': key }),
        ...(to === undefined ? {} : { 'svc-proxy-url': to }),
        ...(options.headers as Record<string, string>),
      },
      { endStream: body === undefined },
    )
    if (body !== undefined) stream.end(body)
    const [headers] = (await once(stream, 'response')) as [Record<string, string | string[]>]
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch {}
    return { status: Number(headers[':status']), headers, text, json }
  } finally {
    session.close()
  }
}
