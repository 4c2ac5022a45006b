import { fileURLToPath } from 'node:url'
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

/**
 * The least that an external processor can do: "continue" to headers and body. Run as `node no-op-processor.ts
 * <socket>`. It says what grpc-js and the extra hop cost before Sidevault does anything.
 */
const definition = loadSync(fileURLToPath(new URL('../../proto/sidevault/ext-proc.proto', import.meta.url)), {
  keepCase: true,
  oneofs: true,
})
const service = definition['sidevault.ext_proc.v1.ExternalProcessor']
if (service === undefined || 'format' in service || service.Process === undefined)
  throw new Error('the proto does not define ExternalProcessor')

const server = new Server({ 'grpc.max_concurrent_streams': 1000 })
// Envoy resets every stream; Node's default limiter would close the connection about every 1,000 of them.
;(server as unknown as { commonServerOptions: Record<string, number> }).commonServerOptions = {
  ...(server as unknown as { commonServerOptions?: Record<string, number> }).commonServerOptions,
  streamResetBurst: 1e6,
  streamResetRate: 1e6,
}
const path = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'
server.addService(
  { Process: { ...service.Process, path } },
  {
    Process: (stream: ServerDuplexStream<{ request: string }, object>) => {
      stream.on('data', (message) => {
        if (message.request === 'request_headers') stream.write({ request_headers: { response: {} } })
        else if (message.request === 'request_body') stream.write({ request_body: { response: {} } })
      })
      stream.on('error', () => {})
      stream.on('end', () => stream.end())
    },
  },
)
server.bindAsync(`unix:${process.argv[2]}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error
  process.stdout.write('ready\n')
})
