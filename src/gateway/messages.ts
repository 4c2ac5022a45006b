/**
 * Envoy's messages (proto/sidevault/ext-proc.proto) on the wire. Written by hand for the few fields there are: a
 * library that reads the description builds an object for every field first, which costs more than the exchange.
 */
import { type ExchangeMetadata, METADATA } from '../control-plane/agreement.ts'
import type { Answer } from './exchange.ts'
import type { Edits, Head } from './headers.ts'
import { Reader, WireError, Writer } from './protobuf.ts'

/** The phase that an answer is for. */
export type Phase = 'request_headers' | 'request_body'

/** `other`: trailers, the response's phases, and what holds nothing that we know. */
export type ProcessingRequest =
  | { readonly kind: 'request_headers'; readonly head: Head; readonly endOfStream: boolean }
  | { readonly kind: 'request_body'; readonly body: Buffer }
  | { readonly kind: 'other' }

const OTHER: ProcessingRequest = { kind: 'other' }

/** Header lines by lower-case name; bytes are kept one to one as latin1. */
const readHeaderMap = (map: Reader, head: Map<string, string[]>): void => {
  for (let field = map.next(); field !== 0; field = map.next()) {
    if (field !== 1) {
      map.skip()
      continue
    }
    const line = map.message()
    let name = ''
    let value = ''
    let raw = ''
    for (let part = line.next(); part !== 0; part = line.next())
      if (part === 1) name = line.latin1().toLowerCase()
      else if (part === 2) value = line.latin1()
      else if (part === 3) raw = line.latin1()
      else line.skip()
    const list = head.get(name)
    const text = raw === '' ? value : raw
    if (list === undefined) head.set(name, [text])
    else list.push(text)
  }
}

const readHeaders = (message: Reader): ProcessingRequest => {
  const head = new Map<string, string[]>()
  let endOfStream = false
  for (let field = message.next(); field !== 0; field = message.next())
    if (field === 1) readHeaderMap(message.message(), head)
    else if (field === 3) endOfStream = message.bool()
    else message.skip()
  return { kind: 'request_headers', head, endOfStream }
}

const readBody = (message: Reader): ProcessingRequest => {
  let body: Buffer = Buffer.alloc(0)
  for (let field = message.next(); field !== 0; field = message.next())
    if (field === 1) body = message.bytes()
    else message.skip()
  return { kind: 'request_body', body }
}

/** A body is a view of `bytes`. Throws WireError on what is no message, and on one of two phases. */
export const decodeRequest = (bytes: Buffer): ProcessingRequest => {
  const reader = new Reader(bytes)
  let request: ProcessingRequest | undefined
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field < 2 || field > 7) {
      reader.skip()
      continue
    }
    if (request !== undefined) throw new WireError()
    if (field === 2) request = readHeaders(reader.message())
    else if (field === 4) request = readBody(reader.message())
    else {
      reader.skip()
      request = OTHER
    }
  }
  return request ?? OTHER
}

const OVERWRITE_IF_EXISTS_OR_ADD = 2

const writeMutation = (
  writer: Writer,
  set: Iterable<readonly [string, string]>,
  remove: readonly string[],
): void => {
  for (const name of remove) writer.latin1(2, name)
  for (const [name, value] of set)
    writer.message(1, () => {
      writer.varint(3, OVERWRITE_IF_EXISTS_OR_ADD)
      writer.message(1, () => {
        writer.latin1(3, value)
        writer.latin1(1, name)
      })
    })
}

/** `google.protobuf.Struct` of one member, a Struct itself. */
const metadataBytes = (metadata: ExchangeMetadata): Buffer => {
  const writer = new Writer(256)
  const member = (name: string, write: () => void) =>
    writer.message(1, () => {
      writer.message(2, write)
      writer.latin1(1, name)
    })
  member(METADATA, () =>
    writer.message(5, () => {
      for (const [name, value] of Object.entries(metadata))
        member(name, () => (value === true ? writer.varint(4, 1) : writer.latin1(3, String(value))))
    }),
  )
  return writer.finish()
}

// One for each brand and outcome.
const known = new Map<string, Buffer>()

const metadataOf = (answer: Answer): Buffer => {
  const { brand } = answer
  const outcome = answer.kind === 'release' ? answer.upstream : answer.kind
  const key = `${outcome} ${brand}`
  let bytes = known.get(key)
  if (bytes === undefined) {
    bytes = metadataBytes({
      active: true,
      brand,
      ...(answer.kind === 'reply' ? { reply: true } : {}),
      ...(answer.kind === 'release' ? { upstream: answer.upstream } : {}),
    })
    known.set(key, bytes)
  }
  return bytes
}

const writeCommon = (writer: Writer, { set, remove }: Edits, body: Buffer | undefined): void => {
  writer.varint(5, 1)
  if (body !== undefined) writer.message(3, () => writer.bytes(1, body))
  writer.message(2, () => writeMutation(writer, set, remove))
}

/** The message for one answer, in the phase that Envoy waits in. Header values are latin1, as `decodeRequest` reads. */
export const encodeAnswer = (answer: Answer, phase: Phase): Buffer => {
  const body =
    answer.kind === 'reply' ? answer.reply.body : answer.kind === 'release' ? answer.body : undefined
  const writer = new Writer(1024 + (body?.length ?? 0))
  writer.bytes(8, metadataOf(answer))
  if (answer.kind === 'reply') {
    const { status, headers } = answer.reply
    writer.message(7, () => {
      writer.latin1(5, 'gateway')
      writer.bytes(3, answer.reply.body)
      writer.message(2, () => writeMutation(writer, headers, []))
      writer.message(1, () => writer.varint(1, status))
    })
  } else {
    writer.message(phase === 'request_headers' ? 1 : 3, () =>
      writer.message(1, () => writeCommon(writer, answer.edits, body)),
    )
  }
  return writer.finish()
}
