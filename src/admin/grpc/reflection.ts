import { type MethodDefinition, type Server, type ServerDuplexStream, status } from '@grpc/grpc-js'
import { ReflectionService } from '@grpc/reflection'

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
  const ours = { sidevault: { fileDescriptorProtos: [...descriptors] } }
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
  new ReflectionService(ours as never).addToServer(server as never)
  return served
}

/** Decodes a stream of bytes to messages; bytes that do not decode end it. */
const messagesOf = (stream: Stream, { method }: Served): MessageStream => ({
  on: (event, listener) => {
    if (event === 'end') stream.on('end', listener)
    else
      stream.on('data', (bytes: Buffer) => {
        let message: object
        try {
          message = method.requestDeserialize(bytes)
        } catch {
          stream.emit('error', {
            code: status.INVALID_ARGUMENT,
            details: 'The message is not a reflection request.',
          })
          return
        }
        listener(message)
      })
  },
  write: (message) => stream.write(method.responseSerialize(message)),
  end: () => stream.end(),
})

/**
 * Server reflection, v1 and v1alpha, of the services in these files. Files and library are loaded on the first call:
 * start-up does not wait for them.
 */
export const serveReflection = (server: Server, descriptors: () => readonly Buffer[]): void => {
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
      if (served) served.handle(messagesOf(stream, served))
      else stream.emit('error', { code: status.UNIMPLEMENTED, details: 'Reflection is not available.' })
    }
    server.addService({ [METHOD]: definition }, { [METHOD]: handle as never })
  }
}
