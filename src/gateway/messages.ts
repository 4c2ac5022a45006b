/**
 * The messages of proto/sidevault/ext-proc.proto as proto-loader hands them over: a oneof names its set member, bytes
 * are Buffers, absent members are absent.
 */
import { fileURLToPath } from 'node:url'
import * as protoLoader from '@grpc/proto-loader'

export interface HeaderValue {
  readonly key: string
  readonly value?: string
  readonly raw_value?: Buffer
}

export interface HttpHeaders {
  readonly headers?: { readonly headers?: readonly HeaderValue[] }
  readonly end_of_stream?: boolean
}

export interface HttpBody {
  readonly body?: Buffer
  readonly end_of_stream?: boolean
}

/** `request` is undefined for a message that holds nothing we know. */
export interface ProcessingRequest {
  readonly request?:
    | 'request_headers'
    | 'request_body'
    | 'response_headers'
    | 'response_body'
    | 'request_trailers'
    | 'response_trailers'
  readonly request_headers?: HttpHeaders
  readonly request_body?: HttpBody
}

export interface HeaderValueOption {
  readonly header: HeaderValue
  readonly append_action: 'OVERWRITE_IF_EXISTS_OR_ADD'
}

export interface HeaderMutation {
  readonly set_headers: readonly HeaderValueOption[]
  readonly remove_headers: readonly string[]
}

export interface CommonResponse {
  readonly header_mutation: HeaderMutation
  readonly body_mutation?: { readonly body: Buffer }
  readonly clear_route_cache?: boolean
}

/** `google.protobuf.Struct`. */
export interface Struct {
  readonly fields: Readonly<Record<string, StructValue>>
}

export type StructValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly structValue: Struct }

export interface ProcessingResponse {
  readonly request_headers?: { readonly response: CommonResponse }
  readonly request_body?: { readonly response: CommonResponse }
  readonly immediate_response?: {
    readonly status: { readonly code: number }
    readonly headers: HeaderMutation
    readonly body: Buffer
    readonly details: string
  }
  readonly dynamic_metadata: Struct
}

const PROTO = fileURLToPath(new URL('../../proto/sidevault/ext-proc.proto', import.meta.url))

/** The path of the one method, and its (de)serializers. */
export const loadProcessMethod = () => {
  const definition = protoLoader.loadSync(PROTO, {
    keepCase: true,
    enums: String,
    longs: Number,
    oneofs: true,
  })
  const service = definition['envoy.service.ext_proc.v3.ExternalProcessor']
  if (service === undefined || 'format' in service) throw new Error('the ext_proc service is not described')
  return service
}
