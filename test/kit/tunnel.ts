import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { Responded } from './egress.ts'

/** Request that opens a tunnel. */
export interface ConnectOptions {
  /** Port of the forward proxy. */
  readonly proxy: number
  /** `host:port`. */
  readonly to: string
  /** Sent as the password of Basic; null: no credentials. */
  readonly key: string | null
  /** Lines instead of the credentials. */
  readonly lines?: readonly string[]
  readonly version?: '1.0' | '1.1'
}

interface Connected {
  readonly status: number
  readonly head: string
  readonly body: string
  readonly socket: Socket
}

export const basic = (key: string): string => `Basic ${Buffer.from(`x:${key}`).toString('base64')}`

/** The response to CONNECT. With another status than 200 its body is complete, and the connection closed. */
export const connect = async (options: ConnectOptions): Promise<Connected> => {
  const { proxy, to, key, version = '1.1' } = options
  const lines = options.lines ?? (key === null ? [] : [`Proxy-Authorization: ${basic(key)}`])
  const socket = connectTcp(proxy, '127.0.0.1')
  await once(socket, 'connect')
  socket.on('error', () => {})
  socket.write([`CONNECT ${to} HTTP/${version}`, `Host: ${to}`, ...lines, '', ''].join('\r\n'))
  let text = ''
  while (!text.includes('\r\n\r\n')) {
    const chunk: Buffer | null = socket.read()
    if (chunk !== null) text += chunk.toString('latin1')
    else if (socket.readableEnded || socket.destroyed) break
    else await Promise.race([once(socket, 'readable'), once(socket, 'end'), once(socket, 'close')])
  }
  const end = text.indexOf('\r\n\r\n')
  const status = Number(/^HTTP\/1\.\d (\d+)/.exec(text)?.[1] ?? 0)
  const head = text.slice(0, end)
  let body = text.slice(end + 4)
  if (status !== 200) {
    socket.on('data', (chunk) => {
      body += chunk
    })
    if (!socket.readableEnded && !socket.destroyed) await once(socket, 'close')
  }
  return { status, head, body, socket }
}

export interface TlsOptions {
  readonly ca: string
  /** Default: the host of the tunnel; null: none. */
  readonly serverName?: string | null
  readonly alpn?: readonly string[]
  readonly session?: Buffer
}

/** TLS inside a tunnel that was opened. Rejects when the handshake fails. */
export const secure = async (socket: Socket, host: string, options: TlsOptions): Promise<TLSSocket> => {
  const { ca, serverName = host, alpn = ['http/1.1'], session } = options
  const tls = connectTls({
    socket,
    ca,
    ALPNProtocols: [...alpn],
    ...(serverName === null ? {} : { servername: serverName }),
    ...(session === undefined ? {} : { session }),
    // The certificate's name is what a test asserts by itself when it sends another one.
    checkServerIdentity: () => undefined,
  })
  await once(tls, 'secureConnect')
  return tls
}

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface InsideOptions {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** In pieces: without a length. */
  readonly body?: string | Buffer | readonly (string | Buffer)[]
}

/** Sends a request over HTTP/1.1 on a connection that stays open. */
export const overHttp1 = (socket: TLSSocket, host: string, options: InsideOptions = {}): Promise<Responded> =>
  new Promise((resolve, reject) => {
    const { method = 'POST', path = '/x', headers = {}, body } = options
    const isWhole = typeof body === 'string' || Buffer.isBuffer(body)
    const request = httpRequest(
      {
        createConnection: () => socket,
        method,
        path,
        headers: {
          host,
          connection: 'keep-alive',
          ...(isWhole ? { 'content-length': Buffer.byteLength(body) } : {}),
          ...(headers as Record<string, string>),
        },
      },
      (response: IncomingMessage) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: json(text) })
        })
      },
    )
    request.on('error', reject)
    if (body !== undefined && !isWhole) for (const piece of body as readonly string[]) request.write(piece)
    request.end(isWhole ? body : undefined)
  })

/** A session of HTTP/2 on a connection inside a tunnel. */
export const http2Session = (socket: TLSSocket, host: string): ClientHttp2Session =>
  connectHttp2(`https://${host}`, { createConnection: () => socket })

/** Sends a request over HTTP/2. Rejects when its stream is reset. */
export const overHttp2 = (
  session: ClientHttp2Session,
  options: InsideOptions & { readonly authority?: string } = {},
): Promise<Responded> =>
  new Promise((resolve, reject) => {
    const { method = 'POST', path = '/x', headers = {}, body, authority } = options
    const stream = session.request({
      ':method': method,
      ':path': path,
      ...(authority === undefined ? {} : { ':authority': authority }),
      ...(headers as Record<string, string>),
    })
    let status = 0
    let received: Responded['headers'] = {}
    const chunks: Buffer[] = []
    stream.on('response', (head) => {
      status = Number(head[':status'])
      received = head as Responded['headers']
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('error', reject)
    stream.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      resolve({ status, headers: received, text, json: json(text) })
    })
    for (const piece of typeof body === 'string' || Buffer.isBuffer(body) ? [body] : (body ?? []))
      stream.write(piece)
    stream.end()
  })
