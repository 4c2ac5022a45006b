/** Reads Envoy's messages (proto/sidevault/ext-proc.proto). By hand, as `encode-reply.ts` writes them. */
import { Reader, WireError } from '../ext-proc/protobuf.ts'
import type { Origin } from './forward/tunnel.ts'
import type { Head } from './headers.ts'

/** `other`: what holds nothing that we know. */
export type ProcessingRequest =
  | {
      readonly kind: 'request_headers' | 'response_headers'
      readonly head: Head
      readonly endOfStream: boolean
      /** The request's body is streamed: Envoy's mode, whatever the headers request. */
      readonly streamed: boolean
      /** Absent: it came to the edge. */
      readonly origin?: Origin
    }
  | { readonly kind: 'request_body' | 'response_body'; readonly body: Buffer; readonly endOfStream: boolean }
  | { readonly kind: 'response_trailers'; readonly head: Head }
  | { readonly kind: 'request_trailers' | 'other' }

const OTHER: ProcessingRequest = { kind: 'other' }
const REQUEST_TRAILERS: ProcessingRequest = { kind: 'request_trailers' }

/** `HeaderValue`: adds a line under its lower-case name; bytes are latin1 characters. */
const readLine = (reader: Reader, head: Map<string, string[]>): void => {
  const outer = reader.enter()
  let name = ''
  let value = ''
  let raw = ''
  for (let part = reader.next(); part !== 0; part = reader.next())
    if (part === 1) name = reader.latin1().toLowerCase()
    else if (part === 2) value = reader.latin1()
    else if (part === 3) raw = reader.latin1()
    else reader.skip()
  reader.leave(outer)
  const list = head.get(name)
  const text = raw === '' ? value : raw
  if (list === undefined) head.set(name, [text])
  else list.push(text)
}

const readHeaderMap = (reader: Reader, head: Map<string, string[]>): void => {
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) readLine(reader, head)
    else reader.skip()
  reader.leave(outer)
}

const readHeaders = (reader: Reader, kind: 'request_headers' | 'response_headers'): ProcessingRequest => {
  const outer = reader.enter()
  const head = new Map<string, string[]>()
  let endOfStream = false
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) readHeaderMap(reader, head)
    else if (field === 3) endOfStream = reader.bool()
    else reader.skip()
  reader.leave(outer)
  return { kind, head, endOfStream, streamed: false }
}

const readTrailers = (reader: Reader): ProcessingRequest => {
  const outer = reader.enter()
  const head = new Map<string, string[]>()
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) readHeaderMap(reader, head)
    else reader.skip()
  reader.leave(outer)
  return { kind: 'response_trailers', head }
}

const NO_BODY = Buffer.alloc(0)

const readBody = (reader: Reader, kind: 'request_body' | 'response_body'): ProcessingRequest => {
  const outer = reader.enter()
  let body: Buffer = NO_BODY
  let endOfStream = false
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) body = reader.bytes()
    else if (field === 2) endOfStream = reader.bool()
    else reader.skip()
  reader.leave(outer)
  return { kind, body, endOfStream }
}

const NONE = 0
const FULL_DUPLEX_STREAMED = 4

/** `ProtocolConfiguration`: how Envoy sends the request's body. */
const readBodyMode = (reader: Reader): number => {
  const outer = reader.enter()
  let mode = NONE
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) mode = reader.uint32()
    else reader.skip()
  reader.leave(outer)
  return mode
}

/** An entry of a map whose values are messages. */
const readEntry = (reader: Reader, readValue: (key: string) => void): void => {
  const outer = reader.enter()
  let key = ''
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) key = reader.latin1()
    else if (field === 2) readValue(key)
    else reader.skip()
  reader.leave(outer)
}

/** Texts of a `google.protobuf.Value`. */
const readText = (reader: Reader, name: string, attributes: Map<string, string>): void => {
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 3) attributes.set(name, reader.latin1())
    else reader.skip()
  reader.leave(outer)
}

/** An entry of `attributes`: texts in a `google.protobuf.Struct`. */
const readAttributes = (reader: Reader, attributes: Map<string, string>): void =>
  readEntry(reader, () => {
    const outer = reader.enter()
    for (let field = reader.next(); field !== 0; field = reader.next())
      if (field === 1) readEntry(reader, (name) => readText(reader, name, attributes))
      else reader.skip()
    reader.leave(outer)
  })

/** A body is a view of `bytes`. Throws WireError on bytes that are no message, and on a message of two phases. */
export const decodeRequest = (bytes: Buffer): ProcessingRequest => {
  const reader = new Reader(bytes)
  let request: ProcessingRequest | undefined
  let mode: number | undefined
  let attributes: Map<string, string> | undefined
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 11) {
      mode = readBodyMode(reader)
      continue
    }
    if (field === 9) {
      attributes ??= new Map()
      readAttributes(reader, attributes)
      continue
    }
    if (field < 2 || field > 7) {
      reader.skip()
      continue
    }
    if (request !== undefined) throw new WireError()
    if (field === 2) request = readHeaders(reader, 'request_headers')
    else if (field === 3) request = readHeaders(reader, 'response_headers')
    else if (field === 4) request = readBody(reader, 'request_body')
    else if (field === 5) request = readBody(reader, 'response_body')
    else if (field === 7) request = readTrailers(reader)
    else {
      reader.skip()
      request = REQUEST_TRAILERS
    }
  }
  if (request?.kind === 'request_headers') {
    const streamed = mode === FULL_DUPLEX_STREAMED
    if (attributes !== undefined)
      return { ...request, streamed, origin: { attributes, isBodyUnread: mode === NONE } }
    if (streamed) return { ...request, streamed }
  }
  return request ?? OTHER
}
