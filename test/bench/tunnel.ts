/**
 * The forward proxy beside `/proxy`: CPU of a call in an open tunnel, and of a new tunnel with one call. `npm run bench --
 * tunnel [--quick]`. The same call in turns, so that the machine's moods are in both; figures are medians of the rounds.
 */
import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { freePort, startSidevault } from '../kit/sidevault.ts'
import { connect, secure } from '../kit/tunnel.ts'
import { cpuDuring } from './cpu.ts'
import { startDestination } from './destination.ts'
import { httpRequest } from './load.ts'
import { partsBelow } from './processes.ts'
import { bodyWith } from './proxy.ts'

type Call = () => Promise<void>

/** Calls over HTTP/1.1, one after the other, on a connection. */
const http1 = (socket: Duplex, request: Buffer): Call => {
  let pending = ''
  let done: ((error?: Error) => void) | undefined
  socket.on('data', (chunk: Buffer) => {
    pending += chunk.toString('latin1')
    const end = pending.indexOf('\r\n\r\n')
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(pending)?.[1] ?? 0)
    if (end < 0 || pending.length < end + 4 + length) return
    const failed = pending.startsWith('HTTP/1.1 200') ? undefined : new Error(pending.slice(0, 500))
    pending = ''
    done?.(failed)
  })
  return () =>
    new Promise((resolve, reject) => {
      done = (error) => (error ? reject(error) : resolve())
      socket.write(request)
    })
}

const http2 =
  (
    session: ClientHttp2Session,
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Call =>
  () =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':method': 'POST', ':path': path, ...headers })
      stream.on('response', (head) => {
        if (head[':status'] !== 200) reject(new Error(`status ${head[':status']}`))
      })
      stream.on('error', reject)
      stream.on('end', resolve)
      stream.resume()
      stream.end(body)
    })

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

export const benchTunnel = async (options: {
  readonly warmSeconds: number
  readonly seconds: number
  readonly rounds: number
  readonly connections: number
}): Promise<string> => {
  const destination = await startDestination()
  const proxy = await freePort()
  const sidevault = await startSidevault({
    env: { ...destination.env, SIDEVAULT_FORWARD_LISTEN: `127.0.0.1:${proxy}` },
  })
  const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
  const token = await sidevault.call('POST', '/tokens', {
    key,
    body: { type: 'card', data: { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 } },
  })
  const stored = await sidevault.call('POST', '/proxies', {
    key: sidevault.managementKey,
    body: { name: 'bench', destination_url: destination.url, intercept: true },
  })
  const ca = (await sidevault.call('GET', '/ca.pem')).text
  const { host } = destination
  const authority = `${host}:${destination.port}`
  const body = bodyWith(`{{ ${token.json.id} | json: '$.number' }}`, 1024)
  const type = { 'content-type': 'application/json' }
  const length = { 'content-length': String(Buffer.byteLength(body)) }
  const stored1 = { ...type, 'svc-api-key': key, 'svc-proxy-key': stored.json.key }
  const open = async (alpn: string) => {
    for (;;) {
      const { status, socket, body: text } = await connect({ proxy, to: authority, key })
      if (status !== 200) throw new Error(text)
      const opened = await secure(socket, host, { ca, alpn: [alpn] }).catch(() => undefined)
      if (opened) return opened
    }
  }
  const tcp = async () => {
    const socket = connectTcp(sidevault.port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  const inTunnel = httpRequest('POST', '/charge', { ...type, host: authority }, body)
  const direct = httpRequest('POST', '/proxy/charge', stored1, body)
  const newTunnel = async () => {
    const socket = await open('http/1.1')
    await http1(socket, inTunnel)()
    socket.destroy()
  }
  const newConnection = async () => {
    const socket = await tcp()
    await http1(socket, direct)()
    socket.destroy()
  }
  const each = <T>(make: () => Promise<T>): Promise<readonly T[]> =>
    Promise.all(Array.from({ length: options.connections }, make))
  const targets: Readonly<Record<string, readonly Call[]>> = {
    '/proxy, HTTP/1.1': await each(async () => http1(await tcp(), direct)),
    'tunnel, HTTP/1.1': await each(async () => http1(await open('http/1.1'), inTunnel)),
    '/proxy, HTTP/2': await each(async () =>
      http2(
        connectHttp2(`http://127.0.0.1:${sidevault.port}`),
        '/proxy/charge',
        { ...stored1, ...length },
        body,
      ),
    ),
    'tunnel, HTTP/2': await each(async () => {
      const socket = await open('h2')
      const session = connectHttp2(`https://${authority}`, { createConnection: () => socket })
      return http2(session, '/charge', { ...type, ...length }, body)
    }),
    '/proxy, new connection': await each(async () => newConnection),
    'new tunnel with a call': await each(async () => newTunnel),
  }
  const run = async (calls: readonly Call[], seconds: number): Promise<number> => {
    const until = performance.now() + seconds * 1000
    const counts = await Promise.all(
      calls.map(async (call) => {
        let count = 0
        for (; performance.now() < until; count++) await call()
        return count
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }
  const parts = partsBelow(sidevault.pid)
  const used: Record<string, { readonly all: number; readonly envoy: number; readonly gateway: number }[]> =
    {}
  try {
    for (const calls of Object.values(targets)) await run(calls, options.warmSeconds)
    for (let round = 0; round < options.rounds; round++)
      for (const [name, calls] of Object.entries(targets)) {
        const { result, used: cpu } = await cpuDuring(parts, () => run(calls, options.seconds))
        const ms = (seconds = 0) => (seconds / result) * 1000
        const all = ms(Object.values(cpu).reduce((sum, seconds) => sum + seconds, 0))
        const samples = used[name] ?? []
        used[name] = samples
        samples.push({ all, envoy: ms(cpu.envoy), gateway: ms(cpu.gateway) })
      }
  } finally {
    await sidevault.stop()
    await destination.stop()
  }
  const of = (name: string, part: 'all' | 'envoy' | 'gateway') =>
    median((used[name] ?? []).map((sample) => sample[part]))
  const ratio = (one: string, other: string) =>
    median((used[one] ?? []).map(({ all }, at) => all / (used[other]?.[at]?.all ?? Number.NaN)))
  const rows = Object.keys(targets).map(
    (name) =>
      `| ${name} | ${(['all', 'envoy', 'gateway'] as const).map((part) => of(name, part).toFixed(2)).join(' | ')} |`,
  )
  const delta = of('new tunnel with a call', 'all') - of('/proxy, new connection', 'all')
  return [
    `| ${options.connections} connections | CPU ms a call | Envoy | gateway |`,
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    `Ratio of a call in an open tunnel: HTTP/1.1 ${ratio('tunnel, HTTP/1.1', '/proxy, HTTP/1.1').toFixed(2)}, HTTP/2 ${ratio('tunnel, HTTP/2', '/proxy, HTTP/2').toFixed(2)}.`,
    `A new tunnel takes ${delta.toFixed(2)} ms more than a new connection to /proxy.`,
  ].join('\n')
}
