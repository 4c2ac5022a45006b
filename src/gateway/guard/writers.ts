import { encodeComponent } from '../body/form-encoding.ts'
import { createJsonWriter } from './json-writer.ts'
import { replacementOf, type Writer } from './writer.ts'

const REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

interface Syntax {
  encode(text: string): string
  /** Around a whole field; -1 is the begin and the end of the body. */
  isBefore(byte: number): boolean
  isAfter(byte: number): boolean
}

const isEdge = (byte: number): boolean => byte === -1

const [AMPERSAND, LESS, EQUALS, GREATER] = [0x26, 0x3c, 0x3d, 0x3e]

const XML: Syntax = {
  encode: (text) => text.replace(/[&<>"']/g, (character) => REFERENCES[character] ?? ''),
  isBefore: (byte) => byte === GREATER,
  isAfter: (byte) => byte === LESS,
}

const FORM: Syntax = {
  encode: encodeComponent,
  isBefore: (byte) => byte === EQUALS || byte === AMPERSAND || byte === -1,
  isAfter: (byte) => byte === AMPERSAND || byte === -1,
}

const TEXT: Syntax = { encode: (text) => text, isBefore: isEdge, isAfter: isEdge }

/** The value of a header line. */
const LINE: Syntax = { ...TEXT, encode: (text) => text.replace(/\p{Cc}/gu, ' ') }

/** A header line that is a URL. */
const URL_LINE: Syntax = { ...TEXT, encode: encodeComponent }

const createSyntaxWriter = ({ encode, isBefore, isAfter }: Syntax): Writer => {
  let parts: Buffer[] = []
  let last = -1
  const read = (bytes: Buffer): void => {
    last = bytes.at(-1) ?? last
  }
  return {
    pass(bytes) {
      parts.push(bytes)
      read(bytes)
    },
    replace(bytes, needle) {
      parts.push(replacementOf(needle, encode))
      read(bytes)
    },
    isField: (_first, next) => isBefore(last) && isAfter(next),
    take() {
      const written = parts
      parts = []
      return written
    },
  }
}

/** A writer for a body of a content type. */
export const writerOf = (contentType: string | undefined): Writer => {
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type === 'text/event-stream') return createJsonWriter(true)
  if (type.includes('json')) return createJsonWriter(false)
  if (type === 'application/x-www-form-urlencoded') return createSyntaxWriter(FORM)
  return createSyntaxWriter(/xml|html/.test(type) ? XML : TEXT)
}

export const lineWriter = (isUrl: boolean): Writer => createSyntaxWriter(isUrl ? URL_LINE : LINE)
