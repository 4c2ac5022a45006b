import { once } from 'node:events'
import { connect, constants } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { Writer } from '../ext-proc/protobuf.ts'
import { startGateway } from '../gateway/server.ts'
import { gatewayDeps } from './gateway-deps.ts'
import type { WarmUpTenant, WarmUpVault } from './warm-up.ts'

/** Calls of each tenant. */
const ROUNDS = 2

const PREFIXES = ['SVC']

const field = (number: number, content: Buffer): Buffer => {
  const writer = new Writer(content.length + 16)
  writer.bytes(number, content)
  return Buffer.concat(writer.pieces())
}

/** A gRPC message without compression. */
const message = (content: Buffer): Buffer => {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(content.length, 1)
  return Buffer.concat([prefix, content])
}

const header = (name: string, value: string): Buffer =>
  field(1, Buffer.concat([field(1, Buffer.from(name)), field(3, Buffer.from(value))]))

/** `protocol_config`: the body comes in the mode BUFFERED. */
const BUFFERED = Buffer.of(0x5a, 2, 0x08, 2)

/** `ProcessingRequest` with headers, of a body that follows. */
const headersMessage = (headers: Readonly<Record<string, string>>): Buffer => {
  const lines = Object.entries(headers).map(([name, value]) => header(name, value))
  return message(Buffer.concat([field(2, field(1, Buffer.concat(lines))), BUFFERED]))
}

const END_OF_STREAM = Buffer.of(0x10, 1)

/** `ProcessingRequest` with a complete body. */
const bodyMessage = (body: Buffer): Buffer =>
  message(field(4, Buffer.concat([field(1, body), END_OF_STREAM])))

/** `host`: of the destination. */
const callOf = ({ key, tokenId }: WarmUpTenant, host: string): readonly [head: Buffer, body: Buffer] => {
  const body = Buffer.from(JSON.stringify({ card: `{{ ${tokenId} | json: '$.number' }}` }))
  const head = headersMessage({
    ':method': 'POST',
    ':path': '/proxy',
    ':authority': `edge.${host}`,
    ':scheme': 'http',
    'content-type': 'application/json',
    'content-length': String(body.length),
    'svc-api-key': key,
    'svc-proxy-url': `https://${host}/`,
  })
  return [head, bodyMessage(body)]
}

/** One call as Envoy makes it, on a connection of its own. Rejects unless both messages have a reply. */
const callGateway = async (
  socketPath: string,
  messages: readonly Buffer[],
  signal: AbortSignal,
): Promise<void> => {
  const session = connect('http://gateway', { createConnection: () => connectSocket(socketPath) })
  session.on('error', () => {})
  const stream = session.request({ ':method': 'POST', ':path': '/' }, { endStream: false })
  const lost = new AbortController()
  stream.on('error', () => lost.abort())
  stream.on('close', () => lost.abort())
  try {
    for (const sent of messages) {
      stream.write(sent)
      await once(stream, 'data', { signal: AbortSignal.any([signal, lost.signal]) })
    }
    stream.close(constants.NGHTTP2_CANCEL)
    await once(stream, 'close', { signal })
  } finally {
    session.destroy()
  }
}

/**
 * The calls of a gateway: a token is used, over a socket as Envoy asks. Nothing is sent to a destination. Tenants,
 * connections and destinations change, so that none of the caches spares a call what the first call of a tenant runs.
 */
export const warmGateway = async ({
  runtime,
  tenants,
  directory,
  log,
  signal,
}: WarmUpVault): Promise<void> => {
  const socketPath = `${directory}/gateway.sock`
  const gateway = await startGateway(
    {
      ...gatewayDeps(runtime, { prefixes: PREFIXES, log }),
      clusterOf: () => Promise.reject(new Error('there is no Envoy')),
    },
    { socketPath, prefixes: PREFIXES, egress: { allow: [], ports: [443], http: false } },
  )
  try {
    for (let round = 0; round < ROUNDS; round++)
      for (const [index, tenant] of tenants.entries())
        await callGateway(socketPath, callOf(tenant, `warm-up-${round}-${index}.invalid`), signal)
  } finally {
    await gateway.close()
  }
}
