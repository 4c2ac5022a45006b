import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request } from 'node:https'
import { serveSocket } from '../common/serve-socket.ts'
import type { DemoFiles } from './demo-certificate.ts'

/** Largest body that is shown, bytes. */
const SHOWN = 65_536

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size <= SHOWN) chunks.push(chunk)
  }
  if (size > SHOWN) return `(${size} bytes, which is too long to show)`
  const text = Buffer.concat(chunks).toString('utf8')
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return text
  }
}

/** The first connection with TLS takes this process some 4 ms more than later ones. Never rejects. */
const connectOnce = async (socketPath: string): Promise<void> => {
  const sent = request({ socketPath, method: 'POST', path: '/', rejectUnauthorized: false })
  try {
    sent.end('{}')
    const [response] = await once(sent, 'response', { signal: AbortSignal.timeout(1_000) })
    response.resume()
    await once(response, 'end')
  } catch {
    sent.destroy()
  }
}

/**
 * The destination of the first steps: responds over TLS with the request it received, `{ method, path, headers, body
 * }`, and stores nothing. Listens on a unix socket that only Envoy's static cluster uses. Resolves when it listens.
 */
export const startDemoDestination = async (
  socketPath: string,
  files: DemoFiles,
): Promise<{ close(): Promise<void> }> => {
  const [cert, key] = await Promise.all([readFile(files.certificate), readFile(files.key)])
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const { method, url: path, headers } = request
      const body = await bodyOf(request)
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
      response.end(`${JSON.stringify({ method, path, headers, body }, null, 2)}\n`)
    } catch {
      response.destroy() // The caller disconnected during its request.
    }
  }
  const server = await serveSocket(socketPath, listener, createServer({ cert, key }))
  await connectOnce(socketPath)
  return server
}
