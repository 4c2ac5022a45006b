import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const TYPE = 'type.googleapis.com/envoy.extensions'

const manager = (routes: object[], filters: object[]) => ({
  name: 'envoy.filters.network.http_connection_manager',
  typed_config: {
    '@type': `${TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'bench',
    generate_request_id: false,
    route_config: {
      max_direct_response_body_size_bytes: 1_048_576,
      virtual_hosts: [{ name: 'all', domains: ['*'], routes }],
    },
    http_filters: [
      ...filters,
      {
        name: 'envoy.filters.http.router',
        typed_config: { '@type': `${TYPE}.filters.http.router.v3.Router`, suppress_envoy_headers: true },
      },
    ],
  },
})

const listener = (port: number, filter: object, tls?: object) => ({
  name: `port_${port}`,
  address: { socket_address: { address: '127.0.0.1', port_value: port } },
  filter_chains: [
    {
      filters: [filter],
      ...(tls ? { transport_socket: { name: 'envoy.transport_sockets.tls', typed_config: tls } } : {}),
    },
  ],
})

const responds = (prefix: string, body: string) => ({
  match: { prefix },
  direct_response: { status: 200, body: { inline_string: body } },
  response_headers_to_add: [{ header: { key: 'content-type', value: 'application/json' } }],
})

/** JSON of about this many bytes, a member for each fifty. */
const jsonOf = (bytes: number): string =>
  JSON.stringify(
    Array.from({ length: bytes / 50 }, (_, at) => ({ id: `ch_${at}`, amount: at * 7919, note: 'as agreed' })),
  ).slice(0, bytes)

/**
 * A TLS destination that reads the whole request and returns 200 with JSON: 1,000 or 100,000 bytes below `/1000` and
 * `/100000`, else a short text.
 */
export const destinationConfig = (port: number, certificate: string, key: string) => ({
  static_resources: {
    listeners: [
      listener(
        port,
        manager(
          [
            responds('/1000/', jsonOf(1_000)),
            responds('/100000/', jsonOf(100_000)),
            responds('/', '{"status":"succeeded","id":"ch_1"}'),
          ],
          [
            {
              // Without it the response would start before the request's end, and HTTP/1.1 connections would close.
              name: 'envoy.filters.http.buffer',
              typed_config: { '@type': `${TYPE}.filters.http.buffer.v3.Buffer`, max_request_bytes: 16777216 },
            },
          ],
        ),
        {
          '@type': `${TYPE}.transport_sockets.tls.v3.DownstreamTlsContext`,
          common_tls_context: {
            alpn_protocols: ['h2', 'http/1.1'],
            tls_certificates: [
              { certificate_chain: { filename: certificate }, private_key: { filename: key } },
            ],
          },
        },
      ),
    ],
  },
})

/** Plain HTTP in, TLS with keep-alive out, as the product's edge does; with a processor when its socket is given. */
export const edgeConfig = (
  port: number,
  destination: { host: string; port: number; authority: string },
  processor?: string,
) => ({
  static_resources: {
    listeners: [
      listener(
        port,
        manager(
          [
            {
              match: { prefix: '/' },
              route: { cluster: 'destination', host_rewrite_literal: destination.host },
            },
          ],
          processor === undefined
            ? []
            : [
                {
                  name: 'envoy.filters.http.ext_proc',
                  typed_config: {
                    '@type': `${TYPE}.filters.http.ext_proc.v3.ExternalProcessor`,
                    grpc_service: { envoy_grpc: { cluster_name: 'processor' } },
                    processing_mode: {
                      request_header_mode: 'SEND',
                      request_body_mode: 'BUFFERED',
                      request_trailer_mode: 'SKIP',
                      response_header_mode: 'SKIP',
                      response_body_mode: 'NONE',
                      response_trailer_mode: 'SKIP',
                    },
                  },
                },
              ],
        ),
      ),
    ],
    clusters: [
      {
        name: 'destination',
        type: 'STATIC',
        load_assignment: {
          cluster_name: 'destination',
          endpoints: [
            {
              lb_endpoints: [
                {
                  endpoint: {
                    address: { socket_address: { address: '127.0.0.1', port_value: destination.port } },
                  },
                },
              ],
            },
          ],
        },
        typed_extension_protocol_options: {
          'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
            '@type': `${TYPE}.upstreams.http.v3.HttpProtocolOptions`,
            auto_config: { http_protocol_options: {}, http2_protocol_options: {} },
          },
        },
        transport_socket: {
          name: 'envoy.transport_sockets.tls',
          typed_config: {
            '@type': `${TYPE}.transport_sockets.tls.v3.UpstreamTlsContext`,
            sni: destination.host,
            common_tls_context: { validation_context: { trusted_ca: { filename: destination.authority } } },
          },
        },
      },
      ...(processor === undefined
        ? []
        : [
            {
              name: 'processor',
              type: 'STATIC',
              load_assignment: {
                cluster_name: 'processor',
                endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path: processor } } } }] }],
              },
              typed_extension_protocol_options: {
                'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
                  '@type': `${TYPE}.upstreams.http.v3.HttpProtocolOptions`,
                  explicit_http_config: { http2_protocol_options: {} },
                },
              },
            },
          ]),
    ],
  },
})

/** Plain HTTP in, to a server on a unix socket. */
export const apiEdgeConfig = (port: number, socket: string) => ({
  static_resources: {
    listeners: [
      listener(port, manager([{ match: { prefix: '/' }, route: { cluster: 'api', timeout: '30s' } }], [])),
    ],
    clusters: [
      {
        name: 'api',
        type: 'STATIC',
        load_assignment: {
          cluster_name: 'api',
          endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path: socket } } } }] }],
        },
      },
    ],
  },
})

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

interface RunningEnvoy {
  readonly pid: number
  stop(): Promise<void>
}

/** Runs an Envoy of one worker on a configuration, and waits until it accepts on `port`. */
export const runEnvoy = async (binary: string, config: object, port: number): Promise<RunningEnvoy> => {
  const path = join(mkdtempSync(join(tmpdir(), 'sidevault-bench-')), 'envoy.json')
  writeFileSync(path, JSON.stringify(config))
  const child: ChildProcess = spawn(
    binary,
    ['-c', path, '--use-dynamic-base-id', '--concurrency', '1', '--log-level', 'error'],
    { stdio: 'inherit' },
  )
  const exited = once(child, 'exit')
  while (!(await accepts(port))) {
    if (child.exitCode !== null)
      throw new Error(`Envoy ended with ${child.exitCode}; its configuration is ${path}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    pid: child.pid!,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}
