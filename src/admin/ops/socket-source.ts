import { request } from 'node:http'
import type { MetricSource } from './metrics.ts'

/** Bytes of another process's metrics that are read. */
const MAX_BYTES = 4 * 1024 * 1024

const get = (socketPath: string, path: string, signal: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, signal, agent: false }, (response) => {
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > MAX_BYTES) response.destroy(new Error(`more than ${MAX_BYTES} bytes`))
        else chunks.push(chunk)
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString('utf8'))
        else reject(new Error(`status ${response.statusCode}`))
      })
    })
    sent.on('error', reject)
    sent.end()
  })

/** A process that answers `GET /metrics.json` on a unix socket, as gateways do. */
export const socketSource = (name: string, socketPath: string): MetricSource => ({
  name,
  metrics: async (signal) => {
    const metrics: unknown = JSON.parse(await get(socketPath, '/metrics.json', signal))
    if (!Array.isArray(metrics)) throw new Error('metrics are not a list')
    return metrics
  },
})

/** Rejects unless the process answers `GET /healthz` on its unix socket with 200. */
export const socketCheck =
  (socketPath: string) =>
  async (signal: AbortSignal): Promise<void> => {
    await get(socketPath, '/healthz', signal)
  }
