import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import protobuf from 'protobufjs'

/** A part of opentelemetry/proto/trace/v1/trace.proto and what it uses. */
const SCHEMA = `syntax = "proto3";
message Export { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated Attribute attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1;
  bytes span_id = 2;
  string trace_state = 3;
  bytes parent_span_id = 4;
  string name = 5;
  int32 kind = 6;
  repeated Attribute attributes = 9;
  Status status = 15;
}
message Status { int32 code = 3; }
message Attribute { string key = 1; Value value = 2; }
message Value { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; } }
`

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

export interface ExportedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string
  readonly name: string
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number
  /** 0: unset, 2: error. */
  readonly status: number
  readonly attributes: Readonly<Record<string, unknown>>
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, unknown>>
}

interface Message {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ExportedSpan, 'status' | 'attributes'> & {
        readonly status: { readonly code: number } | null
        readonly attributes: readonly Attribute[]
      })[]
    }[]
  }[]
}

const membersOf = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))

const hex = (base64: string) => Buffer.from(base64, 'base64').toString('hex')

const { root } = protobuf.parse(SCHEMA)

const spansIn = (bytes: Buffer): readonly ExportedSpan[] => {
  const type = root.lookupType('Export')
  const options = { bytes: String, longs: Number, defaults: true, arrays: true }
  const { resourceSpans } = type.toObject(type.decode(bytes), options) as unknown as Message
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId, status, attributes, ...span }) => ({
        ...span,
        traceId: hex(traceId),
        spanId: hex(spanId),
        parentSpanId: hex(parentSpanId),
        status: status?.code ?? 0,
        attributes: membersOf(attributes),
        resource: membersOf(resource.attributes),
      })),
    ),
  )
}

interface Collector {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string
  readonly exports: { readonly path: string; readonly headers: IncomingHttpHeaders; readonly bytes: Buffer }[]
  spans(): readonly ExportedSpan[]
  close(): Promise<void>
}

/**
 * A collector of OTLP over HTTP that keeps what it gets. `respond` returns the status of the nth response, which quotes
 * the request's credentials when it is no 200; undefined: there is none.
 */
export const startCollector = async (
  respond: (turn: number) => number | undefined = () => 200,
): Promise<Collector> => {
  const exports: Collector['exports'] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    exports.push({ path: request.url ?? '', headers: request.headers, bytes: Buffer.concat(chunks) })
    const status = respond(exports.length)
    if (status === undefined) return
    response.writeHead(status).end(status === 200 ? '' : request.headers.authorization)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    exports,
    spans: () => exports.flatMap(({ bytes }) => spansIn(bytes)),
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
