import { once } from 'node:events'
import { type MethodDefinition, type Server, type ServerDuplexStream, status } from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'
import { AppError } from '../../common/errors.ts'
import { CLIENT_ADDRESS_HEADER, PUBLIC_PAGES, type RateLimiter } from '../../common/rate-limiter.ts'
import type { Calls } from './calls.ts'

type Stream = ServerDuplexStream<Buffer, Buffer>

/** The part of a stream that the library uses. */
interface MessageStream {
  on(event: 'data' | 'end', listener: (message: object) => void): void
  write(message: object): void
  end(): void
}

interface Served {
  readonly method: MethodDefinition<object, object>
  readonly handle: (stream: MessageStream) => void
}

const METHOD = 'ServerReflectionInfo'
const SERVICES = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection']

const pathOf = (service: string) => `/${service}/${METHOD}`

const same = (bytes: Buffer) => bytes

/** The library's reflection services by path. They serve file descriptors. */
const load = (descriptors: readonly Buffer[]): ReadonlyMap<string, Served> => {
  const served = new Map<string, Served>()
  const services = { sidevault: { fileDescriptorProtos: [...descriptors] } }
  const server = {
    addService: (
      definition: Readonly<Record<string, MethodDefinition<object, object>>>,
      implementation: Readonly<Record<string, Served['handle']>>,
    ) => {
      const method = definition[METHOD]
      const handle = implementation[METHOD]
      if (method && handle) served.set(method.path, { method, handle })
    },
  }
  new ReflectionService(services as never).addToServer(server as never)
  return served
}

/** Serves one stream: a further request is read when the client has taken the responses before it. */
const serve = async (stream: Stream, { method, handle }: Served, admit?: RateLimiter): Promise<void> => {
  const closed = new AbortController()
  stream.once('close', () => closed.abort())
  let respond = (_message: object): void => {}
  let finish = (): void => {}
  handle({
    on: (event, listener) => {
      if (event === 'data') respond = listener
      else finish = () => listener({})
    },
    write: (message) => stream.write(method.responseSerialize(message)),
    end: () => stream.end(),
  })
  const address = stream.metadata.get(CLIENT_ADDRESS_HEADER)[0]?.toString()
  // The status is still to be sent after an error.
  for await (const bytes of stream.iterator({ destroyOnReturn: false })) {
    await admit?.({ key: undefined, address, pages: PUBLIC_PAGES })
    respond(messageOf(bytes, method))
    if (stream.writableNeedDrain) await once(stream, 'drain', { signal: closed.signal })
  }
  finish()
}

const messageOf = (bytes: Buffer, { requestDeserialize }: Served['method']): object => {
  try {
    return requestDeserialize(bytes)
  } catch {
    throw new AppError('malformed', 'The message is not a reflection request.')
  }
}

/**
 * Server reflection, v1 and v1alpha, of the services in these files. Files and library are loaded on the first call:
 * start-up does not wait for them. Each request counts as a page of the service for `admit`.
 */
export const serveReflection = (
  server: Server,
  descriptors: () => readonly Buffer[],
  { calls, admit }: { readonly calls: Calls; readonly admit?: RateLimiter | undefined },
): void => {
  let loaded: ReadonlyMap<string, Served> | undefined
  for (const service of SERVICES) {
    const path = pathOf(service)
    const definition = {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    }
    const handle = (stream: Stream) => {
      loaded ??= load(descriptors())
      const served = loaded.get(path)
      if (served === undefined)
        return stream.emit('error', { code: status.UNIMPLEMENTED, details: 'Reflection is not available.' })
      serve(stream, served, admit).catch((thrown: unknown) => {
        if (stream.destroyed) return
        const error = AppError.from(thrown)
        calls.stateOf(stream.metadata).error = error
        stream.emit('error', { code: error.grpc, details: error.message })
      })
    }
    server.addService({ [METHOD]: definition }, { [METHOD]: handle as never })
  }
}
