import type { ForwardHost } from '../../src/control-plane/options.ts'
import type { Bindings } from '../../src/forward-proxy/bindings.ts'
import { type Authority, createAuthority } from './authority.ts'
import { startWorld, type World, type WorldOptions } from './egress.ts'
import { freePort } from './sidevault.ts'
import {
  type ConnectOptions,
  connect,
  http2Session,
  type InsideOptions,
  overHttp1,
  overHttp2,
  secure,
  type TlsOptions,
} from './tunnel.ts'

/** An Envoy with a forward proxy whose bound hosts are given. */
interface ForwardWorld extends World {
  readonly proxy: number
  /** Signs the certificates of bound hosts. */
  readonly ca: Authority
  /** `<host>:<port>` of a name at the destination's port. */
  authorityOf(host?: string): string
  connect(host?: string, options?: Partial<ConnectOptions>): ReturnType<typeof connect>
  /** TLS in a new tunnel. */
  open(host?: string, options?: Partial<ConnectOptions> & Partial<TlsOptions>): ReturnType<typeof secure>
  /** Sends a request over HTTP/1.1 in a tunnel of its own. */
  request(options?: InsideOptions, key?: string): ReturnType<typeof overHttp1>
  request2(options?: InsideOptions, key?: string): ReturnType<typeof overHttp2>
}

interface ForwardWorldOptions extends WorldOptions {
  readonly bindings: Bindings
  /** Default: `api.test`. */
  readonly hosts?: readonly string[]
  readonly key?: string
  /** The port speaks TLS with the certificate of `bootstrap.tls`. */
  readonly tls?: boolean
}

export const startForwardWorld = async ({
  bindings,
  hosts = ['api.test'],
  key = 'key_private',
  tls = false,
  ...options
}: ForwardWorldOptions): Promise<ForwardWorld> => {
  const ca = await createAuthority('Sidevault forward authority')
  const proxy = await freePort()
  const bound: readonly ForwardHost[] = await Promise.all(
    hosts.map(async (host) => {
      const { cert, key: privateKey } = await ca.issue([host])
      return { host, certificate: cert, key: privateKey }
    }),
  )
  const world = await startWorld({
    ...options,
    deps: { bindings, ...options.deps },
    bootstrap: {
      ...options.bootstrap,
      forward: { listen: { host: '127.0.0.1', port: proxy }, tls, hosts: bound },
    },
  })
  for (const host of ['api.test', 'other.test', 'free.test']) world.dns.set(host, { a: ['127.0.0.1'] })
  const authorityOf = (host = 'api.test') => `${host}:${world.destination.port}`
  const connectTo = (host = 'api.test', more: Partial<ConnectOptions> = {}) =>
    connect({ proxy, to: authorityOf(host), key, ...more })
  const open: ForwardWorld['open'] = async (host = 'api.test', more = {}) => {
    const { status, socket, body } = await connectTo(host, more)
    if (status !== 200) throw new Error(`CONNECT was responded with ${status}: ${body}`)
    return secure(socket, host, { ca: ca.pem, ...more })
  }
  return {
    ...world,
    proxy,
    ca,
    authorityOf,
    connect: connectTo,
    open,
    request: async (sent, as = key) => {
      const socket = await open('api.test', { key: as })
      try {
        return await overHttp1(socket, authorityOf(), sent)
      } finally {
        socket.destroy()
      }
    },
    request2: async (sent, as = key) => {
      const session = http2Session(await open('api.test', { key: as, alpn: ['h2'] }), authorityOf())
      try {
        return await overHttp2(session, sent)
      } finally {
        session.destroy()
      }
    },
  }
}
