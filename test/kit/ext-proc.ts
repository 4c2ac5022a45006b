/**
 * Envoy's messages as proto-loader and protobufjs make them of proto/sidevault/ext-proc.proto: the reference that the
 * gateway's own codec is compared with, and what invalid replies are built from. A oneof names its set member, bytes
 * are Buffers, absent members are absent.
 */
import { fileURLToPath } from 'node:url'
import * as protoLoader from '@grpc/proto-loader'
import { encodeReply, type Phase } from '../../src/gateway/encode-reply.ts'
import type { ExtProcReply } from '../../src/gateway/types.ts'

interface HeaderValue {
  readonly key: string
  readonly value?: string
  readonly raw_value?: Buffer
}

interface HttpHeaders {
  readonly headers?: { readonly headers?: readonly HeaderValue[] }
  readonly end_of_stream?: boolean
}

interface HttpBody {
  readonly body?: Buffer
  readonly end_of_stream?: boolean
}

export interface ProcessingRequest {
  readonly request_headers?: HttpHeaders
  readonly request_body?: HttpBody
  readonly response_headers?: HttpHeaders
  readonly response_body?: HttpBody
  readonly request_trailers?: object
  readonly response_trailers?: { readonly trailers?: HttpHeaders['headers'] }
  readonly attributes?: Readonly<Record<string, Struct>>
  readonly protocol_config?: { readonly request_body_mode: string }
}

interface HeaderValueOption {
  readonly header: HeaderValue
  readonly append?: { readonly value: boolean }
  readonly append_action?: 'OVERWRITE_IF_EXISTS_OR_ADD'
}

interface HeaderMutation {
  readonly set_headers: readonly HeaderValueOption[]
  readonly remove_headers: readonly string[]
}

interface CommonResponse {
  readonly header_mutation?: HeaderMutation
  readonly body_mutation?: {
    readonly body?: Buffer
    readonly streamed_response?: { readonly body: Buffer; readonly end_of_stream?: boolean }
  }
  readonly clear_route_cache?: boolean
  readonly status?: 'CONTINUE_AND_REPLACE'
}

/** `google.protobuf.Struct`. */
interface Struct {
  readonly fields: Readonly<Record<string, StructValue>>
}

type StructValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly structValue: Struct }

export interface ProcessingResponse {
  readonly request_headers?: { readonly response: CommonResponse }
  readonly request_body?: { readonly response: CommonResponse }
  readonly request_trailers?: object
  readonly response_headers?: { readonly response: CommonResponse }
  readonly response_body?: { readonly response: CommonResponse }
  readonly mode_override?: Readonly<Record<string, string>>
  readonly immediate_response?: {
    readonly status: { readonly code: number }
    readonly headers: HeaderMutation
    readonly body: Buffer
    readonly details: string
  }
  readonly dynamic_metadata?: Struct
}

const PROCESS_PATH = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'

const definition = protoLoader.loadSync(
  fileURLToPath(new URL('../../proto/sidevault/ext-proc.proto', import.meta.url)),
  { keepCase: true, enums: String, longs: Number, oneofs: true },
)
const service = definition['sidevault.ext_proc.v1.ExternalProcessor']
if (service === undefined || 'format' in service || service.Process === undefined)
  throw new Error('the ext_proc service is not described')

/** The method under the path that Envoy calls, and the reference's codec of its messages. */
export const processMethod = { ...service.Process, path: PROCESS_PATH }

export const encodeRequest = processMethod.requestSerialize as (message: ProcessingRequest) => Buffer
export const encodeResponse = processMethod.responseSerialize as (message: object) => Buffer
export const decodeResponse = processMethod.responseDeserialize as (bytes: Buffer) => ProcessingResponse

/** The gateway's message for a reply. */
export const messageFor = (response: ExtProcReply, phase: Phase): Buffer =>
  Buffer.concat(encodeReply(response, phase))

/** The same, as the reference reads it. */
export const responseMessage = (response: ExtProcReply, phase: Phase): ProcessingResponse =>
  decodeResponse(messageFor(response, phase))
