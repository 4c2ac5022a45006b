/**
 * The forward proxy beside `/proxy`: CPU of a call in an open tunnel, and of a new tunnel with one call. `npm run bench
 * -- tunnel [--quick]`. The same call in turns, so that the machine's moods are in both; figures are medians of the
 * rounds. A tunnel has TLS to its client, so it is compared with `/proxy` of a second service too, whose edge has TLS.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { connect as connectTls, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createAuthority } from '../kit/authority.ts'
import { freePort, type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { connect, secure } from '../kit/tunnel.ts'
import { cpuUntilStored, UNTIL_STORED } from './cpu.ts'
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

const frame = (type: number, flags: number, id: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(id, 5)
  return Buffer.concat([head, payload])
}

const DATA = { type: 0, endStream: 1 }
const HEADERS = { type: 1, endHeaders: 4 }
const SETTINGS = { type: 4, ack: 1 }
const WINDOW_UPDATE = 8
const FRAME_BYTES = 9
const NOTHING = Buffer.alloc(0)

/** A header block of literals that are never indexed (RFC 7541 §6.2.3). */
const headerBlock = (headers: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(headers).flatMap((pair) => [
      Buffer.from([0x10]),
      ...pair.flatMap((text) => {
        const { length } = text
        // RFC 7541 §5.1: a prefix of seven bits.
        const size = length < 127 ? [length] : [127, ((length - 127) & 127) | (length < 255 ? 0 : 128)]
        return [Buffer.from(length < 255 ? size : [...size, (length - 127) >> 7]), Buffer.from(text)]
      }),
    ]),
  )

/** Calls over HTTP/2, one after the other; a request is one write, as it is over HTTP/1.1. */
const http2 = (socket: Duplex, headers: Readonly<Record<string, string>>, body: string): Call => {
  const block = headerBlock(headers)
  const content = Buffer.from(body)
  let pending: Buffer = NOTHING
  let received = 0
  let id = -1
  let done = () => {}
  socket.write(
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(SETTINGS.type, 0, 0, NOTHING)]),
  )
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    while (pending.length >= FRAME_BYTES) {
      const length = pending.readUIntBE(0, 3)
      const [type, flags] = [pending.readUInt8(3), pending.readUInt8(4)]
      if (pending.length < FRAME_BYTES + length) return
      const stream = pending.readUInt32BE(5)
      const payload = pending.subarray(FRAME_BYTES, FRAME_BYTES + length)
      pending = pending.subarray(FRAME_BYTES + length)
      if (type === SETTINGS.type && flags === 0) socket.write(frame(SETTINGS.type, SETTINGS.ack, 0, NOTHING))
      // `:status: 200` is entry 8 of the static table.
      if (type === HEADERS.type && payload.readUInt8(0) !== 0x88) throw new Error('a call failed')
      if (type === DATA.type) received += length
      if (stream === id && type <= HEADERS.type && (flags & DATA.endStream) !== 0) done()
    }
  })
  return () =>
    new Promise((resolve) => {
      id += 2
      done = resolve
      const parts = [
        frame(HEADERS.type, HEADERS.endHeaders, id, block),
        frame(DATA.type, DATA.endStream, id, content),
      ]
      if (received > 30_000) {
        const more = Buffer.alloc(4)
        more.writeUInt32BE(received)
        parts.push(frame(WINDOW_UPDATE, 0, 0, more))
        received = 0
      }
      socket.write(Buffer.concat(parts))
    })
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

type Destination = Awaited<ReturnType<typeof startDestination>>

/** A service whose edge has TLS, with a certificate for `localhost`. */
const startWithTls = async ({ env, directory }: Destination): Promise<Sidevault> => {
  const authority = await createAuthority('Edge')
  const { cert, key } = await authority.issue(['localhost'])
  setDefaultCACertificates([...getCACertificates(), authority.pem])
  const files = {
    SIDEVAULT_TLS_CERT: join(directory, 'edge.pem'),
    SIDEVAULT_TLS_KEY: join(directory, 'edge.key'),
  }
  writeFileSync(files.SIDEVAULT_TLS_CERT, cert)
  writeFileSync(files.SIDEVAULT_TLS_KEY, key)
  return startSidevault({ env: { ...env, ...files } })
}

/** An application, a token of its own in a body, and a stored proxy of the destination. */
const prepare = async (sidevault: Sidevault, url: string) => {
  const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
  const token = await sidevault.call('POST', '/tokens', {
    key,
    body: { type: 'card', data: { number: '4242424242424242', expiration_month: 1, expiration_year: 2031 } },
  })
  const stored = await sidevault.call('POST', '/proxies', {
    key: sidevault.managementKey,
    body: { name: 'bench', destination_url: url, intercept: true },
  })
  const body = bodyWith(`{{ ${token.json.id} | json: '$.number' }}`, 1024)
  return { key, body, stored: { ...TYPE, 'svc-api-key': key, 'svc-proxy-key': stored.json.key as string } }
}

/** Start of the names of the second service's targets. */
const OVER_TLS = '/proxy with TLS'

const TYPE = { 'content-type': 'application/json' }

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
  const secured = await startWithTls(destination)
  const { key, body, stored } = await prepare(sidevault, destination.url)
  const overTls = await prepare(secured, destination.url)
  const ca = (await sidevault.call('GET', '/ca.pem')).text
  const { host } = destination
  const authority = `${host}:${destination.port}`
  const lengthOf = (text: string) => ({ 'content-length': String(Buffer.byteLength(text)) })
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
  const tls = async (alpn: string) => {
    const socket = connectTls({ port: secured.port, servername: 'localhost', ALPNProtocols: [alpn] })
    await once(socket, 'secureConnect')
    return socket
  }
  const inTunnel = httpRequest('POST', '/charge', { ...TYPE, host: authority }, body)
  const direct = httpRequest('POST', '/proxy/charge', stored, body)
  const directTls = httpRequest('POST', '/proxy/charge', overTls.stored, overTls.body)
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
  const newTlsConnection = async () => {
    const socket = await tls('http/1.1')
    await http1(socket, directTls)()
    socket.destroy()
  }
  const pseudo = (path: string, scheme: string, at: string) => ({
    ...{ ':method': 'POST', ':scheme': scheme, ':authority': at, ':path': path },
  })
  const each = <T>(make: () => Promise<T>): Promise<readonly T[]> =>
    Promise.all(Array.from({ length: options.connections }, make))
  const targets: Readonly<Record<string, readonly Call[]>> = {
    '/proxy, HTTP/1.1': await each(async () => http1(await tcp(), direct)),
    [`${OVER_TLS}, HTTP/1.1`]: await each(async () => http1(await tls('http/1.1'), directTls)),
    'tunnel, HTTP/1.1': await each(async () => http1(await open('http/1.1'), inTunnel)),
    '/proxy, HTTP/2': await each(async () => {
      const headers = { ...pseudo('/proxy/charge', 'http', 'bench'), ...stored, ...lengthOf(body) }
      return http2(await tcp(), headers, body)
    }),
    [`${OVER_TLS}, HTTP/2`]: await each(async () => {
      const { stored: headers, body: text } = overTls
      const all = { ...pseudo('/proxy/charge', 'https', 'bench'), ...headers, ...lengthOf(text) }
      return http2(await tls('h2'), all, text)
    }),
    'tunnel, HTTP/2': await each(async () =>
      http2(await open('h2'), { ...pseudo('/charge', 'https', authority), ...TYPE, ...lengthOf(body) }, body),
    ),
    '/proxy, new connection': await each(async () => newConnection),
    [`${OVER_TLS}, new connection`]: await each(async () => newTlsConnection),
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
  const services = [sidevault, secured].map((service) => ({ service, parts: partsBelow(service.pid) }))
  const used: Record<string, { readonly all: number; readonly envoy: number; readonly gateway: number }[]> =
    {}
  try {
    // As many for each service: half as many targets, twice as long.
    for (const [name, calls] of Object.entries(targets))
      await run(calls, options.warmSeconds * (name.startsWith(OVER_TLS) ? 2 : 1))
    for (let round = 0; round < options.rounds; round++)
      for (const [name, calls] of Object.entries(targets)) {
        const at = name.startsWith(OVER_TLS) ? 1 : 0
        const { service, parts } = services[at]!
        const { result, used: cpu } = await cpuUntilStored(service, parts, () => run(calls, options.seconds))
        const ms = (seconds = 0) => (seconds / result) * 1000
        const all = ms(Object.values(cpu).reduce((sum, seconds) => sum + seconds, 0))
        const samples = used[name] ?? []
        used[name] = samples
        samples.push({ all, envoy: ms(cpu.envoy), gateway: ms(cpu.gateway) })
      }
  } finally {
    await Promise.all([sidevault.stop(), secured.stop()])
    await destination.stop()
  }
  const costOf = (name: string, part: 'all' | 'envoy' | 'gateway') =>
    median((used[name] ?? []).map((sample) => sample[part]))
  const ratio = (first: string, second: string) =>
    median((used[first] ?? []).map(({ all }, at) => all / (used[second]?.[at]?.all ?? Number.NaN)))
  const rows = Object.keys(targets).map(
    (name) =>
      `| ${name} | ${(['all', 'envoy', 'gateway'] as const).map((part) => costOf(name, part).toFixed(2)).join(' | ')} |`,
  )
  const beside = (to: string) =>
    ['HTTP/1.1', 'HTTP/2'].map((http) => `${http} ${ratio(`tunnel, ${http}`, `${to}, ${http}`).toFixed(2)}`)
  const more = (to: string) =>
    costOf('new tunnel with a call', 'all') - costOf(`${to}, new connection`, 'all')
  return [
    `| ${options.connections} connections | CPU ms a call | Envoy | gateway |`,
    '| --- | --- | --- | --- |',
    ...rows,
    '',
    ...[OVER_TLS, '/proxy'].map(
      (to) =>
        `Beside ${to}: a call in an open tunnel takes ${beside(to).join(', ')} times its CPU; a new tunnel ${more(to).toFixed(2)} ms more than a new connection.`,
    ),
    '',
    UNTIL_STORED,
  ].join('\n')
}
