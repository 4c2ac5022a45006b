/**
 * Where a position is in JSON text, or in the lines of an event stream whose data may be JSON (the HTML standard,
 * "Server-sent events").
 */
export type JsonState =
  | 'outside'
  | 'string'
  | 'escape'
  | 'hex'
  | 'number'
  /** Of an event stream: the name of a field, blanks before its value, and a value that is no JSON. */
  | 'name'
  | 'value'
  | 'text'

const [LF, CR, BLANK, QUOTE, COLON, OPEN_BRACKET, BACKSLASH, LOWER_U, OPEN_BRACE] = [
  0x0a, 0x0d, 0x20, 0x22, 0x3a, 0x5b, 0x5c, 0x75, 0x7b,
]

/** Characters of number literals. */
const NUMERIC = 1
/** Characters that begin one. */
const NUMBER = 2
const LINE_END = 4
/** What a string cannot simply run over. */
const STRING_STOP = 8
/** What text between values cannot. */
const STOP = 16

const CLASSES = new Uint8Array(256)
for (const [characters, mask] of [
  ['0123456789-', NUMERIC | NUMBER | STOP],
  ['+.eE', NUMERIC],
  ['\r\n', LINE_END | STRING_STOP | STOP],
  ['"', STRING_STOP | STOP],
  ['\\', STRING_STOP],
] as const)
  for (const byte of Buffer.from(characters)) CLASSES[byte] = mask

/** Whether a byte belongs to a number literal, or would continue one; -1 is the end. */
export const isNumeric = (byte: number): boolean => byte >= 0 && ((CLASSES[byte] as number) & NUMERIC) !== 0

/** Index of the first byte that does not belong to a number literal; the length when there is none. */
export const numberEnd = (bytes: Uint8Array): number => {
  let at = 0
  while (at < bytes.length && ((CLASSES[bytes[at] as number] as number) & NUMERIC) !== 0) at++
  return at
}

/** Reads valid JSON exactly, and any other text somehow: a line end, which no string holds, begins again. */
export class JsonLexer {
  state: JsonState
  /** Where the content of the current string, number literal or text begins, in bytes from the first one. */
  start = 0
  /** Bytes read. */
  offset = 0
  /** Of state `hex`: digits that are missing. */
  missing = 0
  readonly #lineStart: 'name' | 'outside'

  constructor(isEventStream: boolean) {
    this.#lineStart = isEventStream ? 'name' : 'outside'
    this.state = this.#lineStart
  }

  advance(bytes: Uint8Array): void {
    const { length } = bytes
    let { state } = this
    for (let at = 0; at < length; at++) {
      if (state === 'string')
        while (at < length && !((CLASSES[bytes[at] as number] as number) & STRING_STOP)) at++
      else if (state === 'outside')
        while (at < length && !((CLASSES[bytes[at] as number] as number) & STOP)) at++
      else if (state === 'number') {
        while (at < length && (CLASSES[bytes[at] as number] as number) & NUMERIC) at++
        if (at < length) state = 'outside'
      }
      if (at === length) break
      const byte = bytes[at] as number
      state =
        (CLASSES[byte] as number) & LINE_END ? this.#lineStart : this.#next(state, byte, this.offset + at)
    }
    this.state = state
    this.offset += length
  }

  #next(state: JsonState, byte: number, offset: number): JsonState {
    switch (state) {
      case 'outside':
        if (byte === QUOTE) {
          this.start = offset + 1
          return 'string'
        }
        if (((CLASSES[byte] as number) & NUMBER) === 0) return state
        this.start = offset
        return 'number'
      case 'string':
        return byte === QUOTE ? 'outside' : byte === BACKSLASH ? 'escape' : state
      case 'escape':
        this.missing = 4
        return byte === LOWER_U ? 'hex' : 'string'
      case 'hex':
        return --this.missing === 0 ? 'string' : state
      case 'name':
        return byte === COLON ? 'value' : state
      case 'value':
        if (byte === BLANK) return state
        if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return 'outside'
        this.start = byte === QUOTE ? offset + 1 : offset
        return byte === QUOTE ? 'string' : 'text'
      default:
        return state
    }
  }
}

/** Whether a byte ends a line; -1 is the end of all. */
export const isLineEnd = (byte: number): boolean => byte === LF || byte === CR || byte === -1
