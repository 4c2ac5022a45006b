import { connect, type Socket } from 'node:net'

/** A measured stretch of load. Latencies in milliseconds. */
export interface LoadResult {
  readonly requests: number
  readonly failures: number
  readonly seconds: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

interface LoadOptions {
  readonly host: string
  readonly port: number
  /** Complete HTTP/1.1 requests; each connection takes them in turn. */
  readonly requests: readonly Buffer[]
  readonly concurrency: number
  readonly seconds: number
  /** Requests after which it ends earlier. */
  readonly most?: number
  /** Each response, with the number of its request and the times on this process's clock, ms. */
  readonly onResponse?: (response: {
    readonly number: number
    readonly sent: number
    readonly done: number
    readonly content: Buffer
  }) => void
}

/**
 * Requests until a Node process has compiled what a call runs: a read costs three times as much before, on a busy
 * machine.
 */
const WARM = 30_000

/** Unmeasured load, until the target is warm or the time is over. */
export const warm = (options: Omit<LoadOptions, 'concurrency' | 'most'>): Promise<LoadResult> =>
  load({ ...options, concurrency: 8, most: WARM })

/** A complete HTTP/1.1 request with the headers given and a right Content-Length. */
export const httpRequest = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Buffer => {
  const lines = Object.entries({
    host: 'bench',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}

/** Of a response in chunks, without trailers (RFC 9112 §7.1). */
const LAST_CHUNK = '\r\n0\r\n\r\n'
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i

/**
 * Where the first response in `data` ends, and its status. Undefined while it is incomplete. Responses have a length.
 */
const responseEnd = (data: Buffer): { end: number; status: number } | undefined => {
  const head = data.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const text = data.toString('latin1', 0, head)
  const status = Number(text.slice(9, 12))
  const length = CONTENT_LENGTH.exec(text)
  if (length === null && status !== 204) {
    // One response at a time: what is behind the last chunk is the next one's.
    const last = data.lastIndexOf(LAST_CHUNK)
    return last >= head ? { end: last + LAST_CHUNK.length, status } : undefined
  }
  const end = head + 4 + Number(length?.[1] ?? 0)
  return data.length >= end ? { end, status } : undefined
}

/**
 * Closed-loop load over keep-alive connections: each sends its next request when the response to the last is complete.
 * Written on bare sockets because it shares two cores with what it measures; a client library costs more than Envoy
 * does.
 */
export const load = async (options: LoadOptions): Promise<LoadResult> => {
  const latencies: number[] = []
  const { most = Number.POSITIVE_INFINITY } = options
  let failures = 0
  let turn = 0
  const started = performance.now()
  const until = started + options.seconds * 1000

  const drive = () =>
    new Promise<void>((resolve, reject) => {
      const socket: Socket = connect(options.port, options.host)
      let pending: Buffer = Buffer.alloc(0)
      let sentAt = 0
      let number = 0
      const next = () => {
        if (performance.now() >= until || turn >= most) {
          socket.destroy()
          resolve()
          return
        }
        sentAt = performance.now()
        number = turn++
        socket.write(options.requests[number % options.requests.length]!)
      }
      socket.setNoDelay(true)
      socket.on('connect', next)
      socket.on('data', (chunk) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
        const response = responseEnd(pending)
        if (response === undefined) return
        const done = performance.now()
        options.onResponse?.({ number, sent: sentAt, done, content: pending.subarray(0, response.end) })
        pending = pending.subarray(response.end)
        latencies.push(done - sentAt)
        if (response.status >= 400) failures++
        next()
      })
      socket.on('error', reject)
      socket.on('close', () => resolve())
    })

  await Promise.all(Array.from({ length: options.concurrency }, drive))
  const seconds = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  return {
    requests: latencies.length,
    failures,
    seconds,
    perSecond: latencies.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
  }
}
