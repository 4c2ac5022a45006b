import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'

/** A request to the demo destination whose body ends only when `end` is called. */
export const slowRequest = async (url: string, key: string, body: string) => {
  const request = httpRequest(`${url}/proxy/slow`, {
    method: 'POST',
    agent: false,
    headers: {
      'svc-api-key': key,
      'svc-proxy-url': 'https://demo.sidevault.test',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  })
  const received = new Promise<{ status: number; text: string }>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({ status: response.statusCode ?? 0, text })
    })
  })
  received.catch(() => {}) // it may be cut off on purpose
  request.flushHeaders()
  await once(request, 'continue') // Envoy has it now
  request.write(body.slice(0, 5))
  return { received, end: () => request.end(body.slice(5)) }
}

export const rejectsConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(socket.destroy() === undefined))
    socket.once('error', () => resolve(true))
  })
