/** Expressions on surfaces that are not evaluated: found without reading the text by its type (completions §13). */
import { codingsOf, decode } from '../../common/decode-content.ts'
import { shortenPlace } from '../../common/error-places.ts'
import { AppError } from '../../common/errors.ts'
import { yieldIfDue } from '../../common/event-loop.ts'
import { LIMITS } from '../../expressions/limits.ts'
import { tooMany } from '../../expressions/scan.ts'
import { tokenIdOf } from '../../expressions/template.ts'
import type { Caller, Vault } from '../../sdk/index.ts'
import { contentOf } from '../body/content.ts'
import { decodeForm } from '../body/form-encoding.ts'
import type { PartReader } from '../body/parts.ts'
import type { RequestBody } from '../body/plain.ts'

/** `{{` as it is, percent-encoded or escaped in JSON; bytes as characters. */
const OPEN = /(?:\{|%7b|\\u007b){2}/gi
/** The first of these ends the head of an expression; `{` means that there is none. */
const HEAD_END = /(\||%7c|\\u007c|&#0{0,4}124;|&#x0{0,4}7c;)|((?:\}|%7d|\\u007d){2})|\{|%7b|\\u007b/gi
const CLOSE = /(?:\}|%7d|\\u007d){2}/gi
/** Characters of an expression as it may be written, each escaped. */
const MAX_LENGTH = 6 * LIMITS.expression
/** The longest `{{`, less one: `\u007b\u007`. */
const OVERLAP = 11

const searchFrom = (pattern: RegExp, text: string, from: number): RegExpExecArray | null => {
  pattern.lastIndex = from
  return pattern.exec(text)
}

const ESCAPES = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/g
const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }
const REFERENCES = /&#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}));/g

/** Undoes the escapes of JSON strings. */
const unescapeJson = (text: string): string =>
  text.replace(ESCAPES, (_, hex: string | undefined, character: string) =>
    hex === undefined ? (CONTROLS[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16)),
  )

/** Undoes the numeric character references of XML. */
const unescapeReferences = (text: string): string =>
  text.replace(REFERENCES, (reference, hex: string | undefined, decimal: string) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : reference
  })

/** The token id at the head of an expression as it was written, behind `{{`. `isAlone`: no filter follows it. */
const idOf = (written: string, isAlone: boolean): string | undefined => {
  let bytes = Buffer.from(written, 'latin1')
  if (written.includes('%') || written.includes('+'))
    bytes = Buffer.from(decodeForm(bytes, 0, bytes.length).bytes)
  let head = bytes.toString('utf8')
  if (head.includes('\\')) head = unescapeJson(head)
  if (head.includes('&#')) head = unescapeReferences(head)
  const from = head.startsWith('-') ? 1 : 0
  const to = isAlone && head.length > from && head.endsWith('-') ? -1 : head.length
  return tokenIdOf(head.slice(from, to).trim())
}

/** Ids that a text in parts names in `{{ … }}`, well formed or not; each may be that of no token. Linear. */
type ClosedScanner = (part: string, isLast: boolean) => readonly string[]

const createClosedScanner = (): ClosedScanner => {
  let held = ''
  return (part, isLast) => {
    // Without the zero bytes of UTF-16 and UTF-32.
    const text = held + part.replaceAll('\0', '')
    const ids: string[] = []
    const add = (written: string, isAlone: boolean) => {
      const id = idOf(written, isAlone)
      // U+0000 is in no id, and cannot be looked up.
      if (id !== undefined && !id.includes('\0')) ids.push(id)
    }
    /** The `}}` that was found last; infinity: no other follows. */
    let close = -1
    const closeAfter = (from: number): number => {
      if (close !== Number.POSITIVE_INFINITY && close < from)
        close = searchFrom(CLOSE, text, from)?.index ?? Number.POSITIVE_INFINITY
      return close
    }
    for (let at = 0; ; ) {
      const open = searchFrom(OPEN, text, at)
      if (open === null) break
      const start = OPEN.lastIndex
      const end = searchFrom(HEAD_END, text, start)
      const ends =
        end === null ? Number.POSITIVE_INFINITY : end[1] === undefined ? end.index : closeAfter(end.index)
      if (ends === Number.POSITIVE_INFINITY && !isLast && text.length - open.index < MAX_LENGTH) {
        held = text.slice(open.index)
        return ids
      }
      if (end !== null && ends - start <= MAX_LENGTH && (end[1] !== undefined || end[2] !== undefined))
        add(text.slice(start, end.index), end[1] === undefined)
      if (end === null) break
      const isNested = end[1] === undefined && end[2] === undefined
      at = isNested ? open.index + 1 : end.index
    }
    held = isLast ? '' : text.slice(-OVERLAP)
    return ids
  }
}

/** A stretch of a request that is not evaluated, with the ids in it. */
export interface ClosedText {
  /** The surface that it would be. */
  readonly place: string
  readonly ids: readonly string[]
}

/** Characters that are scanned in one turn. */
const SLICE = 65_536

const isBinary = (contentType: string | undefined): boolean => {
  try {
    return contentType !== undefined && contentOf(contentType).kind === 'binary'
  } catch {
    return false
  }
}

/** Without its content-encoding, where that can be undone. */
const plainOf = async (
  { bytes, contentEncoding }: RequestBody,
  limit: number,
): Promise<Buffer | undefined> => {
  const codings = codingsOf(contentEncoding)
  if (codings === undefined) return undefined
  if (codings.length === 0) return bytes
  try {
    return await decode(bytes, codings, limit)
  } catch {
    return undefined
  }
}

/** A complete body. One that cannot be read as text holds nothing. Throws `too_large` for too many expressions. */
export const closedBody = async (sent: RequestBody, decodedBytes: number): Promise<ClosedText> => {
  const ids = new Set<string>()
  const bytes = isBinary(sent.contentType) ? undefined : await plainOf(sent, decodedBytes)
  if (bytes === undefined) return { place: 'body', ids: [] }
  const scan = createClosedScanner()
  for (let at = 0; at === 0 || at < bytes.length; at += SLICE) {
    const pause = at > 0 ? yieldIfDue() : undefined
    if (pause) await pause
    const named = scan(bytes.toString('latin1', at, at + SLICE), at + SLICE >= bytes.length)
    for (const id of named) ids.add(id)
    if (ids.size > LIMITS.expressions) throw tooMany()
  }
  return { place: 'body', ids: [...ids] }
}

/** A text of the head of a request. */
export const closedText = ({
  place,
  text,
}: {
  readonly place: string
  readonly text: string
}): ClosedText => ({
  place,
  ids: createClosedScanner()(text, true),
})

/**
 * A body in parts that passes unchanged. The ids of each part are with a replacement of no bytes, so that they are
 * checked before the part is sent on.
 */
export const createClosedReader = (
  contentType: string | undefined,
  contentEncoding: string | undefined,
): PartReader => {
  const isRead = !isBinary(contentType) && codingsOf(contentEncoding)?.length === 0
  const scan = createClosedScanner()
  return {
    encoding: 'latin1',
    push: (bytes, isLast) => {
      const ids = isRead ? scan(bytes.toString('latin1'), isLast) : []
      if (ids.length === 0) return { bytes, occurrences: [] }
      return {
        bytes,
        occurrences: [{ start: 0, end: 0, parse: () => ({ ids, texts: [], print: () => '' }) }],
      }
    },
  }
}

/** Throws `expression_on_closed_surface` when one of the ids is that of a token of the caller's tenant. */
export const checkClosed = async (
  vault: Pick<Vault, 'known'>,
  texts: readonly ClosedText[],
  context: { readonly caller: Caller; readonly now: number },
): Promise<void> => {
  const ids = new Set(texts.flatMap((text) => text.ids))
  if (ids.size === 0) return
  const known = await vault.known([...ids], context)
  const wrong = texts.find((text) => text.ids.some((id) => known.has(id)))
  if (wrong === undefined) return
  const place = shortenPlace(wrong.place)
  throw new AppError(
    'expression_on_closed_surface',
    `"${place}" holds the expression of a token, and is not evaluated. Add it to "evaluate", or remove the expression.`,
    { errors: { [place]: ['holds an expression, and is not evaluated'] } },
  )
}
