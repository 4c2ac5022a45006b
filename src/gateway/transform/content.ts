/** Bodies as transforms see them, and what they return as bytes again (interface, "Proxy transforms"). */
import { AppError } from '../../common/errors.ts'
import { deeperThan, isObject, type Json } from '../../common/json.ts'
import { contentOf } from '../body/content.ts'
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

/** Charsets in which ASCII is ASCII, and which a decoder knows; all else is taken for UTF-8. */
const SINGLE_BYTE = /^(latin1|iso-8859-\d{1,2}|windows-125\d)$/

/** The bytes of an answer as UTF-8, which its content type may say they are not. */
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
  new AppError('malformed', `The body is not the ${what} that its content type says. Send what it says.`)

const parseJson = (text: string): Json => {
  let value: Json
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch {
    throw malformed('JSON')
  }
  if (deeperThan(value, BODY_LIMITS.jsonDepth))
    throw new AppError('malformed', `The body nests deeper than ${BODY_LIMITS.jsonDepth} levels.`)
  return value
}

/** A field that occurs several times becomes a list. */
const parseForm = (text: string): Json => {
  const fields: Record<string, string | string[]> = Object.create(null)
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields[name]
    if (before === undefined) fields[name] = value
    else if (typeof before === 'string') fields[name] = [before, value]
    else before.push(value)
  }
  return fields
}

/** `args.body`. No bytes are an empty object. Throws `malformed`. */
export const readBody = (shape: Shape, bytes: Buffer): Json => {
  if (bytes.length === 0) return {}
  const text = bytes.toString('utf8')
  return shape === 'json' ? parseJson(text) : parseForm(text)
}

const printForm = (fields: Record<string, unknown>): string | undefined => {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields))
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === 'object' && item !== null) return undefined
      form.append(name, item === null ? '' : String(item))
    }
  return form.toString()
}

const isEmpty = (body: Json): boolean => body === null || (isObject(body) && Object.keys(body).length === 0)

/**
 * The bytes of a returned body under the content type that was returned with it: JSON is any value, a form an object of
 * texts or lists of texts, everything else, forms included, a string as it is. `wasEmpty`: an empty body stays one. Undefined when that
 * type cannot hold it.
 */
export const writeBody = (
  contentType: string | undefined,
  body: Json,
  wasEmpty: boolean,
): Buffer | undefined => {
  if (body === null || (wasEmpty && isEmpty(body))) return Buffer.alloc(0)
  let shape: Shape | undefined
  try {
    shape = shapeOf(contentType)
  } catch {
    return undefined
  }
  if (shape === 'json') {
    const json = JSON.stringify(body)
    return Buffer.from(SINGLE_BYTE.test(charsetOf(contentType) ?? '') ? inAscii(json) : json)
  }
  const text =
    shape === 'form' && isObject(body) ? printForm(body) : typeof body === 'string' ? body : undefined
  return text === undefined ? undefined : Buffer.from(text)
}
