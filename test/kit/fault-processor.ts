/**
 * An ext_proc service that misbehaves as the request's header `x-fault` says; without one it sends the request to
 * `x-to` with the body `replaced`. A relay in front of it is what Envoy connects to: it ends or freezes all connections
 * at once, as the end or the halt of a process does.
 */
import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { connect as connectTo, createServer, type Socket } from 'node:net'
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js'
import { decodeRequest, type ProcessingRequest } from '../../src/gateway/decode-request.ts'
import type { Phase } from '../../src/gateway/encode-reply.ts'
import type { ExtProcReply } from '../../src/gateway/types.ts'
import { encodeResponse, type ProcessingResponse, processMethod, responseMessage } from './ext-proc.ts'

type ProcessStream = ServerDuplexStream<ProcessingRequest, Buffer>

const REPLACED = Buffer.from('replaced')
const prefix = 'svc'
const reply: ExtProcReply = {
  kind: 'immediateResponse',
  prefix,
  reply: { status: 418, headers: new Map(), body: Buffer.from('{}') },
}

type Message = ProcessingResponse

/** Names of every fault, by the phase in which it happens. */
export const ISSUES = {
  connect: [
    'end',
    'error',
    'hang',
    'kill',
    'stop',
    'empty',
    'undecodable',
    'wrong-phase',
    'response-phase',
    'no-metadata',
    'illegal-name',
    'envoy-header',
    'bare-immediate',
  ],
  headers: [
    'end',
    'error',
    'hang',
    'kill',
    'stop',
    'empty',
    'undecodable',
    'wrong-phase',
    'response-phase',
    'end-after',
    'error-after',
    'kill-after',
    'double',
    'release-early-unclean',
    'illegal-name',
    'illegal-value',
    'remove-authority',
    'envoy-header',
    'huge-mutation',
    'bare-immediate',
  ],
  body: [
    'end',
    'error',
    'hang',
    'kill',
    'stop',
    'empty',
    'undecodable',
    'wrong-phase',
    'response-phase',
    'no-upstream',
    'unknown-upstream',
    'no-prefix',
    'only-metadata',
    'longer-than-said',
    'shorter-than-said',
    'length-absent',
    'illegal-name',
    'illegal-value',
    'remove-authority',
    'envoy-header',
    'huge-mutation',
    'bare-immediate',
  ],
  // A clean end is missing: Envoy takes it for consent, and the gateway has none in these phases.
  'response-headers': [
    'error',
    'hang',
    'kill',
    'stop',
    'undecodable',
    'wrong-phase',
    'error-after',
    'kill-after',
    'illegal-name',
    'illegal-value',
    'envoy-header',
    'bare-immediate',
  ],
  'response-body': [
    'error',
    'hang',
    'kill',
    'stop',
    'undecodable',
    'wrong-phase',
    'longer-than-said',
    'shorter-than-said',
    'illegal-name',
    'illegal-value',
    'envoy-header',
    'bare-immediate',
  ],
} as const

const withHeader = (message: Message, phase: Phase, key: string, value: string) => {
  const common = message[phase]?.response
  if (!common) throw new Error('no such phase')
  return {
    ...message,
    [phase]: {
      response: {
        ...common,
        header_mutation: {
          ...common.header_mutation,
          set_headers: [
            ...(common.header_mutation?.set_headers ?? []),
            { header: { key, raw_value: Buffer.from(value) }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' },
          ],
        },
      },
    },
  }
}

/** The process that the relay stands for. */
interface Process {
  kill(): void
  stop(): void
}

const serve = (call: ProcessStream, self: Process) => {
  let issue = ''
  let to = ''
  const write = (message: object) => call.write(encodeResponse(message) as never)

  const misbehave = (name: string, phase: Phase, good: Message): void => {
    const other = phase === 'request_headers' ? 'request_body' : 'request_headers'
    const bare = good[phase]
    switch (name) {
      case 'end':
        call.end()
        return
      case 'error':
        call.emit('error', { code: status.INTERNAL, details: 'asked for' })
        return
      case 'hang':
        return
      case 'kill':
      case 'stop':
        self[name]()
        return
      case 'empty':
        call.write(Buffer.alloc(0) as never)
        return
      case 'undecodable':
        call.write(Buffer.from('ffffffffffffffffffff', 'hex') as never)
        return
      case 'wrong-phase':
        write({ ...good, [phase]: undefined, [other]: bare })
        return
      case 'response-phase':
        write({ response_headers: bare, dynamic_metadata: good.dynamic_metadata })
        return
      case 'end-after':
        write(good)
        call.end()
        return
      case 'error-after':
        write(good)
        setImmediate(() => call.emit('error', { code: status.INTERNAL, details: 'asked for' }))
        return
      case 'kill-after':
        write(good)
        setImmediate(() => self.kill())
        return
      case 'double':
        write(good)
        write(good)
        return
      case 'release-early-unclean':
        write({ ...good, [phase]: { response: { ...bare?.response, clear_route_cache: false } } })
        call.end()
        return
      case 'no-upstream':
      case 'no-prefix':
      case 'unknown-upstream': {
        const released = responseMessage(
          {
            kind: 'continue',
            prefix: name === 'no-prefix' ? 'other' : prefix,
            upstream: (name === 'unknown-upstream' ? 'elsewhere' : 'https') as 'https',
            edits: { set: new Map([['content-length', String(REPLACED.length)]]), remove: [] },
            body: REPLACED,
          },
          phase,
        )
        write(name === 'no-upstream' ? { ...released, dynamic_metadata: undefined } : released)
        return
      }
      case 'no-metadata':
        write({ ...good, dynamic_metadata: undefined })
        return
      case 'only-metadata':
        write({ dynamic_metadata: good.dynamic_metadata })
        return
      case 'longer-than-said':
        write(withHeader(good, phase, 'content-length', '3'))
        return
      case 'shorter-than-said':
        write(withHeader(good, phase, 'content-length', '300'))
        return
      case 'length-absent':
        write({
          ...good,
          [phase]: {
            response: { ...bare?.response, header_mutation: { set_headers: [], remove_headers: [] } },
          },
        })
        return
      case 'illegal-name':
        write(withHeader(good, phase, 'bad name', 'x'))
        return
      case 'illegal-value':
        write(withHeader(good, phase, 'x-bad', 'a\r\nb: c'))
        return
      case 'remove-authority':
        write({
          ...good,
          [phase]: {
            response: {
              ...bare?.response,
              header_mutation: { set_headers: [], remove_headers: [':authority'] },
            },
          },
        })
        return
      case 'envoy-header':
        write(withHeader(good, phase, 'x-envoy-max-retries', '3'))
        return
      case 'huge-mutation':
        write(withHeader(good, phase, 'x-huge', 'x'.repeat(130_000)))
        return
      case 'bare-immediate':
        write({ ...responseMessage(reply, phase), dynamic_metadata: undefined })
        return
      default:
        write(good)
    }
  }

  /** Misbehaves when the fault that was asked for belongs to this place. */
  const respond = (place: keyof typeof ISSUES, phase: Phase, good: ExtProcReply): void => {
    const fault = issue.startsWith(`${place}:`) ? issue.slice(place.length + 1) : ''
    misbehave(fault, phase, responseMessage(good, phase))
  }

  call.on('data', (message: ProcessingRequest) => {
    if (message.kind === 'request_headers') {
      const { head } = message
      issue = head.get('x-fault')?.[0] ?? ''
      to = head.get('x-to')?.[0] ?? ''
      const edits = {
        set: new Map([
          [':authority', to],
          [':path', '/echo'],
          ['svc-trace-id', 'trace'],
        ]),
        remove: [],
      }
      if (head.get(':method')?.[0] === 'CONNECT') {
        const good: ExtProcReply = {
          kind: 'connect',
          prefix,
          traceHeader: 'svc-trace-id',
          traceId: 'trace',
          nonce: 'trace',
          tunnel: 'api.test 443 - key',
        }
        return respond('connect', 'request_headers', good)
      }
      const isWebSocket = head.has('upgrade')
      const modeOverride = issue.startsWith('response-') ? 'responseBody' : undefined
      const good: ExtProcReply =
        message.endOfStream || isWebSocket
          ? { kind: 'continue', prefix, edits, upstream: isWebSocket ? 'websocket' : 'https', modeOverride }
          : { kind: 'buffered', prefix, edits, modeOverride }
      respond('headers', 'request_headers', good)
    } else if (message.kind === 'request_body') {
      const good: ExtProcReply = {
        kind: 'continue',
        prefix,
        upstream: 'https',
        edits: {
          set: new Map([
            ['content-length', String(REPLACED.length)],
            ['svc-trace-id', 'trace'],
          ]),
          remove: [],
        },
        body: REPLACED,
      }
      respond('body', 'request_body', good)
    } else if (message.kind === 'response_headers') {
      respond('response-headers', 'response_headers', { kind: 'bufferedResponse', destinationStatus: '200' })
    } else if (message.kind === 'response_body') {
      const edits = { set: new Map([['content-length', String(REPLACED.length)]]), remove: [] }
      respond('response-body', 'response_body', { kind: 'replaceResponse', edits, body: REPLACED })
    }
  })
  call.on('error', () => {})
}

interface FaultProcessor {
  /** Listens at `path`, where `putInPlace` puts it. */
  prepare(): Promise<{ putInPlace(): void }>
  /** Ends all connections and listens no more; the socket's file stays. */
  kill(): void
  close(): void
}

/** A processor for Envoy at `path`. It listens once it is prepared and put in place, again after each `kill`. */
export const createFaultProcessor = async (path: string): Promise<FaultProcessor> => {
  const [behind, aside] = [`${path}.behind`, `${path}.aside`]
  const sockets = new Set<Socket>()
  let stopped = false
  let listening: ReturnType<typeof createServer> | undefined
  const self: Process = {
    kill: () => {
      listening?.close()
      for (const socket of sockets) socket.destroy()
    },
    stop: () => {
      stopped = true
      for (const socket of sockets) socket.unpipe().pause()
    },
  }
  const grpc = new Server()
  grpc.addService(
    {
      Process: {
        ...processMethod,
        requestDeserialize: decodeRequest,
        responseSerialize: (value: Buffer) => value,
      },
    } as unknown as ServiceDefinition,
    { Process: (call: ProcessStream) => serve(call, self) },
  )
  await new Promise<void>((resolve, reject) => {
    grpc.bindAsync(`unix:${behind}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    )
  })
  const relay = (near: Socket) => {
    if (stopped) near.pause()
    const far = connectTo(behind)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      if (!stopped) from.pipe(to)
    }
  }
  return {
    prepare: async () => {
      self.kill()
      stopped = false
      listening = createServer(relay).listen(aside)
      await once(listening, 'listening')
      return { putInPlace: () => renameSync(aside, path) }
    },
    kill: self.kill,
    close: () => {
      self.kill()
      grpc.forceShutdown()
    },
  }
}
