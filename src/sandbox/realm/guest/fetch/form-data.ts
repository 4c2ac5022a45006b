/** `FormData` and its serialization (RFC 7578, in the form of the fetch standard). */
import { Buffer } from 'node:buffer'
import { callSync } from '../bridge.ts'
import { Blob, File } from './blob.ts'

type Value = string | File

const asValue = (value: unknown, filename: unknown): Value => {
  if (!(value instanceof Blob)) return String(value)
  if (value instanceof File && filename === undefined) return value
  return new File([value], filename ?? 'blob', { type: value.type })
}

export class FormData {
  #entries: (readonly [name: string, value: Value])[] = []

  append(name: unknown, value: unknown, filename?: unknown): void {
    this.#entries.push([String(name), asValue(value, filename)])
  }

  set(name: unknown, value: unknown, filename?: unknown): void {
    const entry = [String(name), asValue(value, filename)] as const
    const at = this.#entries.findIndex(([other]) => other === entry[0])
    if (at < 0) return void this.#entries.push(entry)
    this.#entries = this.#entries.filter(([other], index) => index <= at || other !== entry[0])
    this.#entries[at] = entry
  }

  delete(name: unknown): void {
    this.#entries = this.#entries.filter(([other]) => other !== String(name))
  }

  get(name: unknown): Value | null {
    return this.#entries.find(([other]) => other === String(name))?.[1] ?? null
  }

  getAll(name: unknown): Value[] {
    return this.#entries.filter(([other]) => other === String(name)).map(([, value]) => value)
  }

  has(name: unknown): boolean {
    return this.#entries.some(([other]) => other === String(name))
  }

  forEach(callback: (value: Value, name: string, form: FormData) => void, self?: unknown): void {
    for (const [name, value] of this.#entries) callback.call(self, value, name, this)
  }

  *entries(): IterableIterator<[string, Value]> {
    for (const [name, value] of this.#entries) yield [name, value]
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#entries) yield name
  }

  *values(): IterableIterator<Value> {
    for (const [, value] of this.#entries) yield value
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'FormData'
  }
}

const withBreaks = (text: string): string => text.replace(/\r\n?|\n/g, '\r\n')
const quoted = (text: string): string =>
  `"${text.replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('"', '%22')}"`

/** The body of a form, and its content type. */
export const multipart = (form: FormData): { readonly bytes: Uint8Array; readonly type: string } => {
  const boundary = `----formdata-${callSync<string>('crypto.randomUUID')}`
  const parts: Uint8Array[] = []
  form.forEach((value, name) => {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(withBreaks(name))}`
    if (typeof value === 'string') {
      parts.push(Buffer.from(`${head}\r\n\r\n${withBreaks(value)}\r\n`))
      return
    }
    const type = value.type === '' ? 'application/octet-stream' : value.type
    parts.push(Buffer.from(`${head}; filename=${quoted(value.name)}\r\nContent-Type: ${type}\r\n\r\n`))
    parts.push(Blob.bytesOf(value), Buffer.from('\r\n'))
  })
  parts.push(Buffer.from(`--${boundary}--\r\n`))
  return { bytes: Buffer.concat(parts), type: `multipart/form-data; boundary=${boundary}` }
}
