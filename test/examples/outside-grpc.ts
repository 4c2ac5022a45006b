import { join } from 'node:path'
import {
  credentials,
  type GrpcObject,
  loadPackageDefinition,
  Metadata,
  type ServiceClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { sidevault } from '../commands/run.ts'

type Method = (
  message: object,
  metadata: Metadata,
  done: (error: ServiceError | null, response?: Record<string, unknown>) => void,
) => void

/** `service.method(message)` under a key. */
type Grpc = (service: string, method: string, message: object) => Promise<Record<string, unknown>>

/**
 * Clients of the .proto files that are printed for a project's plugins, as anybody's loader makes them:
 * `(port, key) => Grpc`.
 */
export const printedClients = async (folder: string, env: Record<string, string>) => {
  const out = join(folder, 'protos')
  const { code, text } = await sidevault(folder, ['proto', '--out', out], env)
  if (code !== 0) throw new Error(text)
  const files = ['tokens', 'passport_checks'].map((name) => `sidevault/v1/${name}.proto`)
  const { sidevault: loaded } = loadPackageDefinition(loadSync(files, { includeDirs: [out], keepCase: true }))
  const services = (loaded as GrpcObject).v1 as Record<string, ServiceClientConstructor>
  return (port: number, key: string): Grpc => {
    const metadata = new Metadata()
    metadata.set('svc-api-key', key)
    return (service, method, message) => {
      const client = new services[service]!(`127.0.0.1:${port}`, credentials.createInsecure())
      return new Promise<Record<string, unknown>>((resolve, reject) => {
        const call = client[method] as Method
        call.call(client, message, metadata, (error, response) =>
          error ? reject(error) : resolve(response ?? {}),
        )
      }).finally(() => client.close())
    }
  }
}

/** Strings, and objects of them, as a google.protobuf.Value. */
export const toValue = (json: string | Readonly<Record<string, string>>): object =>
  typeof json === 'string'
    ? { stringValue: json }
    : {
        structValue: {
          fields: Object.fromEntries(Object.entries(json).map(([name, text]) => [name, toValue(text)])),
        },
      }

interface Value {
  readonly stringValue?: string
  readonly structValue?: { readonly fields: Readonly<Record<string, Value>> }
}

/** The opposite of `toValue`; undefined for a member that is not there. */
export const jsonOf = (value: unknown): unknown => {
  const { stringValue, structValue } = (value ?? {}) as Value
  return structValue === undefined
    ? stringValue
    : Object.fromEntries(Object.entries(structValue.fields).map(([name, inner]) => [name, jsonOf(inner)]))
}
