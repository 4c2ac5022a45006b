import { encodeComponent } from '../body/form-encoding.ts'
import type { Needle } from './needles.ts'

/** Writes a body on, with other text in the place of values. It is given all bytes, in order. */
export interface Writer {
  /** Bytes that stay as they are. */
  pass(bytes: Buffer): void
  /** Bytes that are a form of a value. */
  replace(bytes: Buffer, needle: Needle): void
  /** Whether a value that begins here and ends before `next` (-1: the end) is a whole field. */
  isField(first: number, next: number): boolean
  /** What may go on; after `isLast`, all. */
  take(isLast: boolean): readonly Buffer[]
}

/** What stands in the place of a needle; `encode`: as the text around it asks for. */
export const replacementOf = (
  { kind, source: { disclosure } }: Needle,
  encode: (text: string) => string,
): Buffer => {
  if (kind === 'plain') return Buffer.from(encode(disclosure.expression))
  if (kind === 'percent') return Buffer.from(encodeComponent(disclosure.expression))
  const text = `[token ${disclosure.tokenId}]`
  if (kind === 'encoded') return Buffer.from(encode(text))
  if (kind === 'utf16') return Buffer.from(text.replace(/[^\0-\xff]/g, '?'), 'utf16le').subarray(0, -1)
  const bytes = Buffer.from(text, 'utf16le')
  return kind === 'utf16le' ? bytes : bytes.swap16()
}
