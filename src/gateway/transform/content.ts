/** Bodies as transforms see them, and what they return as bytes again (interface, "Proxy transforms"). */
import { AppError } from '../../common/errors.ts'
import { inOwnTurn, mapInTurns, yieldIfDue } from '../../common/event-loop.ts'
import { isObject, type Json } from '../../common/json.ts'
import { CODE_JSON_LIMITS, exceedsCodeLimits, structureOfText } from '../../common/json-structure.ts'
import { parseJson } from '../../common/parse-json.ts'
import { writeJson } from '../../common/write-json.ts'
import { contentOf } from '../body/content.ts'
import { decodeForm, divisibleAt, encodeForm } from '../body/form-encoding.ts'
import { inAscii } from '../body/json.ts'
import { BODY_LIMITS } from '../body/limits.ts'

/** The content types that transforms apply to. */
export type Shape = 'json' | 'form'

/** Undefined when transforms do not apply. Throws `malformed` for several types at once. */
export const shapeOf = (contentType: string | undefined): Shape | undefined => {
  if (contentType === undefined) return undefined
  const { kind } = contentOf(contentType)
  return kind === 'json' || kind === 'form' ? kind : undefined
}

const charsetOf = (contentType: string | undefined): string | undefined =>
  /;\s*charset\s*=\s*"?([^\s";,]+)/i.exec(contentType ?? '')?.[1]?.toLowerCase()

/** Supersets of ASCII that a decoder knows; all others are read as UTF-8. */
const SINGLE_BYTE = /^(latin1|iso-8859-\d{1,2}|windows-125\d)$/

/** The bytes of a response as UTF-8, which its content type may say they are not. */
export const asUtf8 = (contentType: string | undefined, bytes: Buffer): Buffer => {
  const charset = charsetOf(contentType)
  if (charset === undefined || !SINGLE_BYTE.test(charset)) return bytes
  try {
    return Buffer.from(new TextDecoder(charset).decode(bytes))
  } catch {
    return bytes
  }
}

const malformed = (what: string) =>
  new AppError(
    'malformed',
    `The content type declares ${what}, but the body is not valid ${what}. Correct one of them.`,
  )

const tooComplex = () =>
  new AppError('too_large', 'The body holds more values or names of members than code takes. Send fewer.')

const parseJsonBytes = async (bytes: Buffer): Promise<Json> => {
  const structure = await structureOfText(bytes, CODE_JSON_LIMITS.names)
  if (structure.depth > BODY_LIMITS.jsonDepth)
    throw new AppError('malformed', `The body nests deeper than ${BODY_LIMITS.jsonDepth} levels.`)
  if (exceedsCodeLimits(structure)) throw tooComplex()
  const text = await inOwnTurn(() => bytes.toString('utf8').replace(/^\uFEFF/, ''))
  try {
    return await inOwnTurn(() => parseJson(text) as Json)
  } catch {
    throw malformed('JSON')
  }
}

/** Bytes or characters that are read or written in one turn. */
const SLICE = 65_536

const AMPERSAND = 0x26
const EQUALS = 0x3d

/** The text of `[from, to)` of a form, as long work. */
const textOf = async (form: Buffer, from: number, to: number): Promise<string> => {
  if (to - from <= SLICE) return decodeForm(form, from, to).bytes.toString('utf8')
  const pieces: Buffer[] = []
  for (let at = from; at < to; ) {
    const pause = yieldIfDue()
    if (pause) await pause
    const end = to - at > SLICE ? divisibleAt(form, at, at + SLICE) : to
    pieces.push(decodeForm(form, at, end).bytes)
    at = end
  }
  return inOwnTurn(() => Buffer.concat(pieces).toString('utf8'))
}

/** A field that occurs several times becomes a list. Long work (event-loop.ts). */
const parseForm = async (bytes: Buffer): Promise<Json> => {
  const fields: Record<string, string | string[]> = Object.create(null)
  let left: number = CODE_JSON_LIMITS.members
  let names: number = CODE_JSON_LIMITS.names
  for (let at = 0, end = 0; at < bytes.length; at = end + 1) {
    const pause = yieldIfDue()
    if (pause) await pause
    const next = bytes.indexOf(AMPERSAND, at)
    end = next === -1 ? bytes.length : next
    if (end === at) continue
    const equals = bytes.subarray(at, end).indexOf(EQUALS)
    const name = await textOf(bytes, at, equals === -1 ? end : at + equals)
    const value = equals === -1 ? '' : await textOf(bytes, at + equals + 1, end)
    const before = fields[name]
    if (before === undefined) fields[name] = value
    else if (typeof before === 'string') fields[name] = [before, value]
    else before.push(value)
    if (before === undefined) names--
    if (--left < 0 || names < 0) throw tooComplex()
  }
  return fields
}

/** `args.body`. No bytes are an empty object. Rejects with `malformed` and `too_large`. */
export const readBody = async (shape: Shape, bytes: Buffer): Promise<Json> => {
  if (bytes.length === 0) return {}
  return shape === 'json' ? parseJsonBytes(bytes) : parseForm(bytes)
}

/** The text in slices, as bytes of what `write` makes of each. No slice ends within a surrogate pair. */
const writtenInSlices = async (text: string, write: (slice: string) => string): Promise<Buffer> => {
  const slices: string[] = []
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at + SLICE - 1)
    const end = at + SLICE + (unit >= 0xd800 && unit < 0xdc00 ? 1 : 0)
    slices.push(text.slice(at, end))
    at = end
  }
  return Buffer.concat(await mapInTurns(slices, (slice) => Buffer.from(write(slice), 'latin1')))
}

const printForm = async (fields: Record<string, unknown>): Promise<Buffer | undefined> => {
  const pieces: Buffer[] = []
  for (const [name, value] of Object.entries(fields))
    for (const item of Array.isArray(value) ? value : [value]) {
      const pause = yieldIfDue()
      if (pause) await pause
      if (typeof item === 'object' && item !== null) return undefined
      const text = item === null ? '' : String(item)
      pieces.push(Buffer.from(`${pieces.length === 0 ? '' : '&'}${encodeForm(name)}=`))
      pieces.push(
        text.length > SLICE ? await writtenInSlices(text, encodeForm) : Buffer.from(encodeForm(text)),
      )
    }
  return Buffer.concat(pieces)
}

const isEmpty = (body: Json): boolean => body === null || (isObject(body) && Object.keys(body).length === 0)

/**
 * The bytes of a returned body under the content type that was returned with it: JSON is any value, a form an object of
 * texts or lists of texts, everything else, forms included, a string as it is. `wasEmpty`: an empty body stays one.
 * Undefined when that type cannot hold it.
 */
export const writeBody = async (
  contentType: string | undefined,
  body: Json,
  wasEmpty: boolean,
): Promise<Buffer | undefined> => {
  if (body === null || (wasEmpty && isEmpty(body))) return Buffer.alloc(0)
  let shape: Shape | undefined
  try {
    shape = shapeOf(contentType)
  } catch {
    return undefined
  }
  if (shape === 'json') {
    const json = await writeJson(body)
    if (SINGLE_BYTE.test(charsetOf(contentType) ?? '')) return writtenInSlices(json.toString(), inAscii)
    return typeof json === 'string' ? Buffer.from(json) : json
  }
  if (shape === 'form' && isObject(body)) return printForm(body)
  return typeof body === 'string' ? Buffer.from(body) : undefined
}
