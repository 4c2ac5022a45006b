/** The worst load on Envoy by one tenant, with its key and through a proxy that needs none. */
import { connect, type Socket } from 'node:net'
import { KEYS, type World } from './egress.ts'

const MIB = 1024 * 1024

/** A call that is never read further than its status line. */
interface Standing {
  status: number | undefined
}

interface Flood {
  /** The calls of each kind. */
  readonly calls: Readonly<Record<string, readonly Standing[]>>
  rejected(kind: string): number
  /** Statuses other than 429 and that of a 200 that does not end. */
  unexpected(): readonly number[]
  end(): void
}

const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`

/** So many calls of each kind, as the tenant of `KEYS.private`; every third is anonymous, where that is possible. */
export const startFlood = (world: World, each: number): Flood => {
  const sockets: Socket[] = []
  world.far.proxies.set('open', {
    id: 'open',
    tenantId: 'tenant',
    destinationUrl: world.url(),
    requireAuth: false,
    configuration: {},
  })
  for (let at = 0; at < each; at++) world.dns.set(`${at}.silent.test`, { silent: true })

  const stand = (head: readonly string[], body = ''): Standing => {
    const socket = connect(world.port, '127.0.0.1')
    sockets.push(socket)
    const standing: Standing = { status: undefined }
    socket.on('error', () => {})
    socket.once('data', (data) => {
      standing.status = Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1])
      socket.pause()
    })
    socket.write(`${[...head, 'host: edge.test', 'content-type: text/plain'].join('\r\n')}\r\n\r\n${body}`)
    return standing
  }
  const own = (url: string) => [`svc-api-key: ${KEYS.private}`, `svc-proxy-url: ${url}`]
  const as = (at: number) => (at % 3 === 0 ? ['svc-proxy-key: open'] : own(world.url()))
  const get = (path: string, from: readonly string[]) => stand([`GET /proxy${path} HTTP/1.1`, ...from])
  const post = (at: number, headers: readonly string[], body: string) =>
    stand(['POST /proxy HTTP/1.1', ...as(at), ...headers], body)
  const chunked = 'transfer-encoding: chunked'

  const kinds: Readonly<Record<string, (at: number) => Standing>> = {
    'slow bodies with a length': (at) => post(at, [`content-length: ${4 * MIB}`], 'x'.repeat(65_536)),
    'slow bodies without one': (at) => post(at, [chunked], chunk(65_536)),
    'slow readers of an endless response': (at) => get('/large?bytes=1000000000000', as(at)),
    'destinations that never respond': (at) => get('/slow?ms=1000000', as(at)),
    'names that never resolve': (at) => get('', own(`https://${at}.silent.test`)),
    'uploads that never end': (at) => post(at, ['svc-proxy-stream: true', chunked], chunk(65_536)),
  }
  const calls = Object.fromEntries(
    Object.entries(kinds).map(([kind, begin]) => [kind, Array.from({ length: each }, (_, at) => begin(at))]),
  )
  return {
    calls,
    rejected: (kind) => calls[kind]?.filter(({ status }) => status === 429).length ?? 0,
    unexpected: () =>
      Object.values(calls)
        .flat()
        .flatMap(({ status = 200 }) => (status === 200 || status === 429 ? [] : [status])),
    end: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}
