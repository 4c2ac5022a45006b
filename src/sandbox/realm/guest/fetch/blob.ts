/** `Blob` and `File`: bytes with a type. */
import { Buffer } from 'node:buffer'
import { viewOf } from '../bytes.ts'

interface BlobOptions {
  readonly type?: unknown
}

const OTHER_THAN_PRINTABLE = /[^\x20-\x7e]/

const typeOf = (type: unknown = ''): string => {
  const text = String(type)
  return OTHER_THAN_PRINTABLE.test(text) ? '' : text.toLowerCase()
}

const offset = (at: number | undefined, otherwise: number, size: number): number => {
  const integer = Math.trunc(Number(at ?? otherwise)) || 0
  return integer < 0 ? Math.max(size + integer, 0) : Math.min(integer, size)
}

export class Blob {
  readonly type: string
  #bytes: Buffer

  constructor(parts: Iterable<unknown> = [], { type }: BlobOptions = {}) {
    if (typeof parts !== 'object' || parts === null || !(Symbol.iterator in parts))
      throw new TypeError('The "sources" argument must be an iterable.')
    const bytes: Uint8Array[] = []
    for (const part of parts)
      bytes.push(
        part instanceof Blob
          ? part.#bytes
          : ArrayBuffer.isView(part) || part instanceof ArrayBuffer
            ? viewOf(part)
            : Buffer.from(String(part)),
      )
    this.#bytes = Buffer.concat(bytes)
    this.type = typeOf(type)
  }

  /** Bytes without a copy, for sending. Read-only. */
  static bytesOf(blob: Blob): Buffer {
    return blob.#bytes
  }

  get size(): number {
    return this.#bytes.length
  }

  slice(start?: number, end?: number, type?: unknown): Blob {
    const { size } = this
    return new Blob([this.#bytes.subarray(offset(start, 0, size), offset(end, size, size))], { type })
  }

  async text(): Promise<string> {
    return this.#bytes.toString().replace(/^\ufeff/, '')
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(this.#bytes).buffer
  }

  async bytes(): Promise<Uint8Array> {
    return new Uint8Array(this.#bytes)
  }

  get [Symbol.toStringTag](): string {
    return 'Blob'
  }
}

export class File extends Blob {
  readonly name: string
  readonly lastModified: number

  constructor(
    parts: Iterable<unknown>,
    name: unknown,
    options: BlobOptions & { readonly lastModified?: number } = {},
  ) {
    super(parts, options)
    this.name = String(name)
    this.lastModified = Number(options.lastModified ?? Date.now())
  }

  override get [Symbol.toStringTag](): string {
    return 'File'
  }
}
