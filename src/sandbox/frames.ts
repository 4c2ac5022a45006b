/**
 * Messages between the service and its children on one stream: four bytes of length, four of the header's length, the
 * header as JSON, then one raw text (an argument, a result, code), which is not escaped twice.
 */

/** Bytes before the header. */
const PREFIX = 8
/** UTF-8 bytes of a UTF-16 code unit at most. */
const PER_CHARACTER = 3

interface Frame {
  readonly header: unknown
  readonly body: string
}

export const encodeFrame = (header: object, body = ''): Buffer => {
  const text = JSON.stringify(header)
  const headerBytes = Buffer.byteLength(text)
  const length = headerBytes + Buffer.byteLength(body)
  const frame = Buffer.allocUnsafe(PREFIX + length)
  frame.writeUInt32BE(length, 0)
  frame.writeUInt32BE(headerBytes, 4)
  frame.write(text, PREFIX)
  if (body !== '') frame.write(body, PREFIX + headerBytes)
  return frame
}

/** Writes a message into `into` at `at` and returns its end; undefined when it may not fit. */
export const writeFrame = (into: Buffer, at: number, header: object, body = ''): number | undefined => {
  const text = JSON.stringify(header)
  if (at + PREFIX + PER_CHARACTER * (text.length + body.length) > into.length) return undefined
  const headerEnd = at + PREFIX + into.write(text, at + PREFIX)
  const end = body === '' ? headerEnd : headerEnd + into.write(body, headerEnd)
  into.writeUInt32BE(end - at - PREFIX, at)
  into.writeUInt32BE(headerEnd - at - PREFIX, at + 4)
  return end
}

/**
 * Reads chunks of the stream and calls `onFrame` for each message. Throws on a length above `maxBytes` and on a header
 * that is not JSON; the sender must then be killed.
 */
export const createFrameReader = (maxBytes: number, onFrame: (frame: Frame) => void) => {
  let chunks: Buffer[] = []
  let held = 0
  let wanted = PREFIX

  const take = (): Buffer => {
    const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, held)
    chunks = []
    held = 0
    return all
  }

  return (chunk: Buffer): void => {
    chunks.push(chunk)
    held += chunk.length
    if (held < wanted) return
    let rest = take()
    wanted = PREFIX
    while (rest.length >= PREFIX) {
      const length = rest.readUInt32BE(0)
      const headerBytes = rest.readUInt32BE(4)
      if (length > maxBytes || headerBytes > length) throw new Error('A message exceeds the length limit.')
      wanted = PREFIX + length
      if (rest.length < wanted) break
      const header: unknown = JSON.parse(rest.toString('utf8', PREFIX, PREFIX + headerBytes))
      const body = rest.toString('utf8', PREFIX + headerBytes, wanted)
      rest = rest.subarray(wanted)
      wanted = PREFIX
      onFrame({ header, body })
    }
    if (rest.length === 0) return
    chunks = [rest]
    held = rest.length
  }
}
