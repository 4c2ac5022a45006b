import { isLineEnd, isNumeric, JsonLexer, type JsonState, numberEnd } from './json-lexer.ts'
import type { Needle } from './needles.ts'
import { replacementOf, type Writer } from './writer.ts'

/** A number literal is held back while it is shorter: a value in it makes it a string. */
const MAX_HELD = 64

const QUOTE = 0x22
const MARK = Buffer.from('"')

const escapeJson = (text: string): string => JSON.stringify(text).slice(1, -1)
const escapeLine = (text: string): string => text.replace(/\p{Cc}/gu, ' ')

const isPlainText = (state: JsonState): boolean => state === 'name' || state === 'value' || state === 'text'

/** JSON, several JSON texts in lines, or an event stream. Valid JSON stays valid. */
class JsonWriter implements Writer {
  readonly #lexer: JsonLexer
  #parts: Buffer[] = []
  /** The begin of a number literal that is not finished. */
  #held: Buffer[] = []
  /** The current number literal is written as a string, whose end is to come. */
  #isQuoted = false

  constructor(isEventStream: boolean) {
    this.#lexer = new JsonLexer(isEventStream)
  }

  pass(bytes: Buffer): void {
    const { offset, state } = this.#lexer
    const at = state === 'number' ? numberEnd(bytes) : 0
    if (state === 'number') this.#passNumber(bytes.subarray(0, at), at < bytes.length)
    this.#lexer.advance(bytes)
    const isOpen = this.#lexer.state === 'number' && this.#lexer.start >= offset
    const open = isOpen ? this.#lexer.start - offset : bytes.length
    this.#parts.push(bytes.subarray(at, open))
    if (isOpen) this.#hold(bytes.subarray(open), true)
  }

  replace(bytes: Buffer, needle: Needle): void {
    const { state: from, missing } = this.#lexer
    this.#lexer.advance(bytes)
    const { state: to } = this.#lexer
    if (needle.kind.startsWith('utf16')) {
      this.#parts.push(...this.#held, replacementOf(needle, escapeJson))
      this.#held = []
    } else if (isPlainText(from) && isPlainText(to)) this.#parts.push(replacementOf(needle, escapeLine))
    else if (from === 'number' && !this.#isQuoted && this.#held.length === 0)
      // Its begin has left: it stays a number.
      this.#parts.push(Buffer.alloc(bytes.length, '0'))
    else {
      this.#open(from, missing)
      this.#parts.push(replacementOf(needle, escapeJson))
      this.#close(to)
    }
  }

  isField(first: number, next: number): boolean {
    const { state, start, offset } = this.#lexer
    if (state === 'string') return start === offset && next === QUOTE
    if (state === 'value') return isLineEnd(next)
    return state === 'outside' && isNumeric(first) && !isNumeric(next)
  }

  take(isLast: boolean): readonly Buffer[] {
    const parts = this.#parts
    this.#parts = []
    return isLast ? [...parts, ...this.#held, ...(this.#isQuoted ? [MARK] : [])] : parts
  }

  /** Before what replaces a value: within a string of JSON, whatever the value began in. */
  #open(from: JsonState, missing: number): void {
    if (from === 'escape') this.#parts.push(Buffer.from('\\'))
    if (from === 'hex') this.#parts.push(Buffer.alloc(missing, '0'))
    if (from === 'outside' || from === 'value' || (from === 'number' && !this.#isQuoted))
      this.#parts.push(MARK)
    this.#parts.push(...this.#held)
    this.#held = []
  }

  /** After it, for whatever the value ended in. */
  #close(to: JsonState): void {
    this.#isQuoted = to === 'number'
    if (to === 'escape') this.#parts.push(Buffer.from('\\'))
    if (to === 'hex') this.#parts.push(Buffer.from(`\\u${'0'.repeat(4 - this.#lexer.missing)}`))
    if (to === 'outside') this.#parts.push(MARK)
  }

  /** More of a number literal. */
  #passNumber(bytes: Buffer, isEnd: boolean): void {
    if (this.#held.length > 0) this.#hold(bytes, !isEnd)
    else this.#parts.push(bytes)
    if (isEnd && this.#isQuoted) {
      this.#parts.push(MARK)
      this.#isQuoted = false
    }
  }

  #hold(bytes: Buffer, isOpen: boolean): void {
    this.#held.push(Buffer.from(bytes))
    if (isOpen && this.#held.reduce((sum, { length }) => sum + length, 0) <= MAX_HELD) return
    this.#parts.push(...this.#held)
    this.#held = []
  }
}

export const createJsonWriter = (isEventStream: boolean): Writer => new JsonWriter(isEventStream)
