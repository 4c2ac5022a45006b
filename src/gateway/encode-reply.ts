/**
 * Writes replies to Envoy (proto/sidevault/ext-proc.proto). By hand, for the few fields there are: a library that reads
 * the description builds an object for every field first, which costs more than the exchange.
 */
import { CLUSTER_HEADER, type ExchangeMetadata, METADATA } from '../ext-proc/contract.ts'
import { Writer } from '../ext-proc/protobuf.ts'
import type { Edits } from './headers.ts'
import type { CallMark, ExtProcReply, LocalResponse } from './types.ts'

/** The phase that a reply is for. */
export type Phase = 'request_headers' | 'request_body' | 'response_headers' | 'response_body'

const OVERWRITE_IF_EXISTS_OR_ADD = 2

/** `HeaderValueOption`. A line more is asked for by its old member: the external processor heeds no other. */
const writeLine = (writer: Writer, name: string, value: string, isFirst: boolean): void => {
  const option = writer.end()
  if (isFirst) writer.varint(3, OVERWRITE_IF_EXISTS_OR_ADD)
  else {
    const append = writer.end()
    writer.varint(1, 1)
    writer.start(2, append)
  }
  const header = writer.end()
  writer.latin1(3, value)
  writer.latin1(1, name)
  writer.start(1, header)
  writer.start(1, option)
}

const writeMutation = (
  writer: Writer,
  set: ReadonlyMap<string, string | readonly string[]>,
  remove: readonly string[],
): void => {
  for (const name of remove) writer.latin1(2, name)
  set.forEach((value, name) => {
    if (typeof value === 'string') writeLine(writer, name, value, true)
    // The writer goes from the last to the first.
    else for (let at = value.length - 1; at >= 0; at--) writeLine(writer, name, value[at] as string, at === 0)
  })
}

/** A member of a `google.protobuf.Struct`. */
const writeMember = (writer: Writer, name: string, writeValue: () => void): void => {
  const field = writer.end()
  const value = writer.end()
  writeValue()
  writer.start(2, value)
  writer.latin1(1, name)
  writer.start(1, field)
}

const membersOf = (metadata: ExchangeMetadata): Buffer => {
  const writer = new Writer(256)
  for (const [name, value] of Object.entries(metadata))
    writeMember(writer, name, () => (value === true ? writer.varint(4, 1) : writer.latin1(3, String(value))))
  return Buffer.concat(writer.pieces())
}

// One for each prefix and outcome, and each destination status from 200 to 299.
const known = new Map<string, Buffer>()

const remembered = (key: string, metadata: ExchangeMetadata): Buffer => {
  let bytes = known.get(key)
  if (bytes === undefined) {
    bytes = membersOf(metadata)
    known.set(key, bytes)
  }
  return bytes
}

/** Members of the metadata that a reply sets, but its mark. */
const metadataOf = (reply: ExtProcReply): Buffer | undefined => {
  switch (reply.kind) {
    case 'buffered':
      return reply.isConsole
        ? remembered(`buffered console ${reply.prefix}`, { console: true, prefix: reply.prefix })
        : remembered(`buffered ${reply.prefix}`, { active: true, prefix: reply.prefix })
    case 'connect': {
      const { prefix, nonce, tunnel, address } = reply
      if (tunnel !== undefined) return membersOf({ active: true, prefix, connect: 'open', nonce, tunnel })
      return membersOf({ active: true, prefix, connect: 'tunnel', nonce, ...(address && { address }) })
    }
    case 'continue': {
      const { prefix, upstream, address } = reply
      if (address !== undefined) return membersOf({ active: true, prefix, upstream, address })
      const held = upstream.startsWith('console_')
        ? ({ console: true } as const)
        : ({ active: true } as const)
      return remembered(`${upstream} ${prefix}`, { ...held, prefix, upstream })
    }
    case 'immediateResponse':
      return remembered(`reply ${reply.prefix}`, { active: true, prefix: reply.prefix, reply: true })
    case 'bufferedResponse':
      return remembered(reply.destinationStatus, { destination_status: reply.destinationStatus })
    default:
      return undefined
  }
}

/** `dynamic_metadata`: a Struct whose one member, our namespace, is a Struct. */
const writeMetadata = (writer: Writer, members: Buffer, mark: CallMark | undefined): void => {
  const metadata = writer.end()
  writeMember(writer, METADATA, () => {
    const struct = writer.end()
    if (mark !== undefined) {
      writeMember(writer, 'call', () => writer.latin1(3, mark.call))
      writeMember(writer, 'worker', () => writer.latin1(3, mark.worker))
    }
    writer.raw(members)
    writer.start(5, struct)
  })
  writer.start(8, metadata)
}

const [SEND, SKIP] = [1, 2]
const [NONE, BUFFERED, FULL_DUPLEX_STREAMED] = [0, 2, 4]

/**
 * `ProcessingMode`: how the request's body comes, and what of the response is wanted. Each must be one of
 * `allowed_override_modes` (control-plane/listener.ts): Envoy ignores others silently.
 */
const modeBytes = (requestBody: number, responseBody: number): Buffer => {
  const writer = new Writer(16)
  writer.varint(6, SEND)
  writer.varint(5, requestBody === FULL_DUPLEX_STREAMED ? SEND : SKIP)
  if (responseBody !== NONE) writer.varint(4, responseBody)
  writer.varint(3, requestBody)
  writer.varint(2, SEND)
  return Buffer.concat(writer.pieces())
}
const RESPONSE_HEADERS = modeBytes(BUFFERED, NONE)
const RESPONSE_BODY = modeBytes(BUFFERED, BUFFERED)
const RESPONSE_IN_PIECES = modeBytes(BUFFERED, FULL_DUPLEX_STREAMED)
const UPLOAD_RESPONSE_HEADERS = modeBytes(FULL_DUPLEX_STREAMED, NONE)
const UPLOAD_RESPONSE_IN_PIECES = modeBytes(FULL_DUPLEX_STREAMED, FULL_DUPLEX_STREAMED)

/** The processing mode that takes the place of the configured one; Envoy heeds it in replies to headers. */
const modeOf = (reply: ExtProcReply, phase: Phase, isUpload: boolean): Buffer | undefined => {
  if (reply.kind === 'bufferedResponse') return RESPONSE_BODY
  if (reply.kind === 'continueResponse') return phase === 'response_headers' ? RESPONSE_HEADERS : undefined
  if (phase !== 'request_headers' || (reply.kind !== 'buffered' && reply.kind !== 'continue'))
    return undefined
  switch (reply.modeOverride) {
    case undefined:
      return undefined
    case 'responseBody':
      return RESPONSE_BODY
    case 'responseHeaders':
      return RESPONSE_HEADERS
    case 'guardedHeaders':
      return isUpload ? UPLOAD_RESPONSE_HEADERS : RESPONSE_HEADERS
    case 'guardedResponse':
      return isUpload ? UPLOAD_RESPONSE_IN_PIECES : RESPONSE_IN_PIECES
  }
}

const NO_EDITS: Edits = { set: new Map(), remove: [] }
const RESPONSE_FIELD: Readonly<Record<Phase, number>> = {
  request_headers: 1,
  response_headers: 2,
  request_body: 3,
  response_body: 4,
}
const REQUEST_TRAILERS = 5
const RESPONSE_TRAILERS = 6
/** Bytes of most replies without a large body. */
const ROOM = 1024
const CONTINUE_AND_REPLACE = 1

/** The cluster's name is set last: nothing that code or a caller sends may take its place. */
const editsOf = (reply: ExtProcReply): Edits => {
  if (reply.kind === 'connect')
    return { set: new Map([[reply.traceHeader, reply.traceId]]), remove: ['proxy-authorization'] }
  if (reply.kind !== 'continue' || reply.cluster === undefined)
    return ('edits' in reply && reply.edits) || NO_EDITS
  const { set, remove } = reply.edits
  return { set: new Map([...set, [CLUSTER_HEADER, reply.cluster]]), remove }
}

/** `HeaderMutation`, where there is something to change. */
const writeEdits = (writer: Writer, field: number, { set, remove }: Edits): void => {
  if (set.size === 0 && remove.length === 0) return
  const mutation = writer.end()
  writeMutation(writer, set, remove)
  writer.start(field, mutation)
}

/** `CommonResponse`. */
const writeCommon = (writer: Writer, reply: ExtProcReply, phase: Phase): void => {
  const body = 'body' in reply ? reply.body : undefined
  const ofRequest = phase === 'request_headers' || phase === 'request_body'
  // Chooses the route again; without a header mutation Envoy does not.
  if (ofRequest) writer.varint(5, 1)
  if (body !== undefined) {
    const mutation = writer.end()
    writer.bytes(1, body)
    writer.start(3, mutation)
  }
  writeEdits(writer, 2, editsOf(reply))
  if (body !== undefined && phase === 'request_headers') writer.varint(1, CONTINUE_AND_REPLACE)
}

/** `CommonResponse` with a `StreamedBodyResponse`. */
const writeStreamed = (
  writer: Writer,
  { body, isLast }: Extract<ExtProcReply, { kind: 'streamed' }>,
): void => {
  const mutation = writer.end()
  const streamed = writer.end()
  if (isLast) writer.varint(2, 1)
  writer.bytes(1, body)
  writer.start(3, streamed)
  writer.start(3, mutation)
}

/** `ImmediateResponse`. */
const writeImmediate = (writer: Writer, { status, headers, body }: LocalResponse): void => {
  writer.latin1(5, 'gateway')
  writer.bytes(3, body)
  const mutation = writer.end()
  writeMutation(writer, headers, [])
  writer.start(2, mutation)
  const code = writer.end()
  writer.varint(1, status)
  writer.start(1, code)
}

/**
 * The message for one reply, in the phase that Envoy waits in, piece by piece; a large body is one of them. Header
 * values are latin1, as `decodeRequest` reads. `isUpload`: the request's body is streamed, which an override repeats.
 */
export const encodeReply = (reply: ExtProcReply, phase: Phase, isUpload = false): readonly Buffer[] => {
  const writer = new Writer(ROOM)
  const mode = modeOf(reply, phase, isUpload)
  if (mode !== undefined) writer.bytes(9, mode)
  const metadata = metadataOf(reply)
  if (metadata !== undefined) writeMetadata(writer, metadata, 'mark' in reply ? reply.mark : undefined)
  const message = writer.end()
  if (reply.kind === 'immediateResponse') {
    writeImmediate(writer, reply.reply)
    writer.start(7, message)
  } else if (reply.kind === 'trailers') {
    if (reply.edits !== undefined) writeEdits(writer, 1, reply.edits)
    writer.start(phase === 'response_body' ? RESPONSE_TRAILERS : REQUEST_TRAILERS, message)
  } else {
    const common = writer.end()
    if (reply.kind === 'streamed') writeStreamed(writer, reply)
    else writeCommon(writer, reply, phase)
    writer.start(1, common)
    writer.start(RESPONSE_FIELD[phase], message)
  }
  return writer.pieces()
}
