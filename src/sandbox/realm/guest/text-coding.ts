/** `TextEncoder` and `TextDecoder`. */

import { Buffer } from 'node:buffer'
import { callSync } from './bridge.ts'
import { viewOf } from './bytes.ts'
import { latin1 } from './latin1.ts'

export class TextEncoder {
  readonly encoding = 'utf-8'

  encode(text: unknown = ''): Uint8Array {
    return new Uint8Array(Buffer.from(String(text), 'utf8'))
  }

  encodeInto(text: string, target: Uint8Array): { readonly read: number; readonly written: number } {
    let read = 0
    let written = 0
    for (const character of text) {
      const bytes = Buffer.from(character, 'utf8')
      if (written + bytes.length > target.length) break
      target.set(bytes, written)
      written += bytes.length
      read += character.length
    }
    return { read, written }
  }
}

/** Number of bytes of an incomplete UTF-8 character at the end. */
const unfinished = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (byte >= 0xc0)
      return byte >= 0xf0 ? (back < 4 ? back : 0) : byte >= 0xe0 ? (back < 3 ? back : 0) : back < 2 ? back : 0
    if (byte < 0x80) return 0
  }
  return 0
}

interface Options {
  readonly fatal?: boolean
  readonly ignoreBOM?: boolean
}

export class TextDecoder {
  readonly encoding: string
  readonly fatal: boolean
  readonly ignoreBOM: boolean
  #held = new Uint8Array()
  #started = false

  constructor(label: unknown = 'utf-8', { fatal = false, ignoreBOM = false }: Options = {}) {
    const name = String(label)
    this.encoding = /^utf-?8$/i.test(name) ? 'utf-8' : callSync('text.label', name)
    this.fatal = fatal
    this.ignoreBOM = ignoreBOM
  }

  decode(input: unknown = new Uint8Array(), { stream = false }: { readonly stream?: boolean } = {}): string {
    const chunk = viewOf(input, 'input')
    const bytes = this.#held.length === 0 ? chunk : new Uint8Array(this.#held.length + chunk.length)
    if (bytes !== chunk) {
      bytes.set(this.#held)
      bytes.set(chunk, this.#held.length)
    }
    const retained = !stream
      ? 0
      : this.encoding === 'utf-8'
        ? unfinished(bytes)
        : this.encoding.startsWith('utf-16')
          ? bytes.length % 2
          : 0
    const ready = bytes.subarray(0, bytes.length - retained)
    this.#held = bytes.slice(bytes.length - retained)
    const ignoreBOM = this.ignoreBOM || this.#started
    this.#started = stream && (this.#started || ready.length > 0)
    return callSync('text.decode', [latin1(ready), 'latin1'], this.encoding, this.fatal, ignoreBOM)
  }
}
