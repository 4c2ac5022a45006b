import type { Expressions } from '../../expressions/types.ts'
import { type Charset, type ContentKind, contentOf } from './content.ts'
import { createCsv } from './csv.ts'
import { createForm } from './form.ts'
import { createJson, createRecords } from './json.ts'
import { boundaryOf, createMultipart, type PartScanner } from './multipart.ts'
import type { ScanLimits, Scanner } from './scanner.ts'
import { createText } from './text.ts'
import { createUnread } from './unread.ts'
import { createXml } from './xml.ts'

const LINE_FEED = 0x0a
const RECORD_SEPARATOR = 0x1e

const otherCharset = () => createUnread('its charset is not one that values are put into; send UTF-8')
const otherMultipart = () =>
  createUnread(
    'values are put into "multipart/form-data" with one valid boundary, and into no other multipart type',
  )
const otherType = () => createUnread('its content type is not valid; send the one that the body has')
const otherPart = () =>
  createUnread('values are put into no part of its type; give it another type, or a filename if it is a file')

/** Bytes at the beginning of a text that show its code units. */
const SHOWN = 4

/** Whether a text begins as UTF-16 or UTF-32 do: with a byte-order mark, or with a NUL among its first bytes. */
export const isWide = (bytes: Buffer): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) ||
  (bytes[0] === 0xfe && bytes[1] === 0xff) ||
  bytes.subarray(0, SHOWN).includes(0)

/** The scanner of a text whose type names no charset, or a wrong one: what its first bytes show overrides it. */
const unlessWide = (scanner: Scanner): Scanner => {
  let actual: Scanner | undefined
  const scannerFor = (first: Buffer): Scanner => {
    actual ??= isWide(first) ? otherCharset() : scanner
    return actual
  }
  const isUndecided = ({ length }: Buffer) => actual === undefined && length < SHOWN
  return {
    ...scanner,
    mayHold: (bytes) => (isUndecided(bytes) ? scanner : scannerFor(bytes)).mayHold(bytes),
    scan: (part, isLast) =>
      isUndecided(part) && !isLast ? { end: 0, occurrences: [] } : scannerFor(part).scan(part, isLast),
  }
}

const textScannerOf = (
  kind: Exclude<ContentKind, 'binary' | 'unread' | 'multipart'>,
  charset: Exclude<Charset, 'other'>,
  expressions: Expressions,
  limits: ScanLimits,
): Scanner => {
  if (kind === 'json') return createJson(charset, expressions, limits)
  const json = () => createJson(charset, expressions, limits)
  if (kind === 'ndjson') return createRecords(LINE_FEED, json)
  if (kind === 'json-seq') return createRecords(RECORD_SEPARATOR, json)
  if (kind === 'form') return createForm(charset, expressions, limits)
  if (kind === 'xml') return createXml(expressions, limits)
  if (kind === 'csv') return createCsv(charset, expressions, limits)
  return createText(charset, expressions, limits, false)
}

/** Reads a body of this Content-Type. Undefined: it passes unread. Throws `malformed` for several content types. */
export const scannerOf = (
  contentType: string,
  expressions: Expressions,
  limits: ScanLimits,
): Scanner | undefined => {
  const { kind, charset } = contentOf(contentType)
  if (kind === 'binary') return undefined
  if (kind === 'unread') return /^\s*multipart\//i.test(contentType) ? otherMultipart() : otherType()
  if (kind === 'multipart') {
    const boundary = boundaryOf(contentType)
    if (boundary === undefined) return otherMultipart()
    return createMultipart(boundary, (type) => scannerOfPart(type, expressions, limits), otherPart, limits)
  }
  if (charset === 'other' || (charset !== 'utf8' && kind === 'xml')) return otherCharset()
  return unlessWide(textScannerOf(kind, charset, expressions, limits))
}

/** RFC 7578 §4.4: a part without a type is plain text, and then a field: it may hold any value. */
const scannerOfPart = (
  contentType: string | undefined,
  expressions: Expressions,
  limits: ScanLimits,
): ReturnType<PartScanner> => {
  const type = contentType ?? 'text/plain'
  const { kind, charset } = contentOf(type)
  const isField = /^text\/plain\s*(;|$)/i.test(type) && charset !== 'other'
  if (isField) return { scanner: createText(charset, expressions, limits, true), passes: false }
  const scanner = kind === 'multipart' ? undefined : scannerOf(type, expressions, limits)
  const passes = scanner === undefined || kind === 'unread' || charset === 'other'
  return { scanner: scanner ?? otherPart(), passes }
}
