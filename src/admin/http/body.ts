import { AppError } from '../../common/errors.ts'
import { inOwnTurn } from '../../common/event-loop.ts'
import { parseJson } from '../../common/parse-json.ts'
import { checkText } from '../structure.ts'

const malformed = (detail: string) => new AppError('malformed', detail)

const unsupported = (types: readonly string[]) =>
  new AppError(
    'unsupported_media_type',
    `The body's content type is not accepted here. Send it as ${types.join(' or ')}, in UTF-8.`,
  )

/** The media type in lower case, and whether its charset (if any) is UTF-8. */
const mediaType = (header: string): { readonly type: string; readonly utf8: boolean } => {
  const [type = '', ...parameters] = header.split(';')
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/i.exec(parameter)?.[1])
    .find((value) => value !== undefined)
  return {
    type: type.trim().toLowerCase(),
    utf8: charset === undefined || /^(?:utf-?8|us-ascii)$/i.test(charset),
  }
}

/** Throws `unsupported_media_type` unless the body is JSON of a type that the operation takes. */
export const checkContentType = (header: string | undefined, consumes: readonly string[] = []): void => {
  const accepted = ['application/json', ...consumes]
  const { type, utf8 } = mediaType(header ?? '')
  if (!accepted.includes(type) || !utf8) throw unsupported(accepted)
}

/** Throws `unsupported_media_type` when the body is compressed. */
export const checkContentCoding = (header: string | undefined): void => {
  if (header !== undefined && header.trim().toLowerCase() !== 'identity')
    throw new AppError(
      'unsupported_media_type',
      "The body's content coding is not accepted here. Send the body uncompressed.",
    )
}

/** A lone surrogate, which UTF-8 cannot encode. */
const holdsLoneSurrogate = (value: unknown): boolean => {
  const stack: unknown[] = [value]
  while (stack.length > 0) {
    const item = stack.pop()
    if (typeof item === 'string') {
      if (!item.isWellFormed()) return true
    } else if (typeof item === 'object' && item !== null)
      for (const [name, child] of Object.entries(item)) {
        if (!name.isWellFormed()) return true
        stack.push(child)
      }
  }
  return false
}

/** Numbers that a double may not hold: a cheap first check, which also matches inside strings. */
const LONG_NUMBER = /(?:^|[\s[:,])-?(?:\d{16}|\d[\d.]*[eE]|0\.0{300})/
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs

/** Significant digits: the same for `1e3` and `1000.0`. */
const digitsOf = (literal: string): string | undefined =>
  /[1-9](?:\d*[1-9])?/.exec(literal.replace(/e.*|\./gi, ''))?.[0]

/** Whether a double changes a number that is beyond 2^53, or becomes 0. */
const isLossy = (literal: string): boolean => {
  const number = Number(literal)
  return (
    (number === 0 || Math.abs(number) > Number.MAX_SAFE_INTEGER) &&
    digitsOf(literal) !== digitsOf(String(number))
  )
}

/** Whether a number of a JSON text does not survive a double. */
const holdsLossyNumber = (text: string): boolean => {
  if (!LONG_NUMBER.test(text)) return false
  for (const [literal] of text.matchAll(STRING_OR_NUMBER))
    if (!literal.startsWith('"') && isLossy(literal)) return true
  return false
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Parses a JSON body, bounded in depth. `__proto__` and `constructor` are ordinary members: `parseJson` defines them,
 * and later steps copy only what schemas name. Rejects with `malformed`.
 */
export const parseJsonBody = async (body: Buffer): Promise<unknown> => {
  let text: string
  try {
    text = decoder.decode(body)
  } catch {
    throw malformed('The body is not valid UTF-8. Send JSON in UTF-8.')
  }
  await checkText(body)
  let value: unknown
  try {
    value = await inOwnTurn(() => parseJson(text))
  } catch {
    throw malformed('The body is not valid JSON. Check its syntax.')
  }
  if (await inOwnTurn(() => holdsLossyNumber(text)))
    throw malformed('The body holds a number that a double cannot hold exactly. Send it as a string.')
  if (/\\u[dD][89a-fA-F]/.test(text) && holdsLoneSurrogate(value))
    throw malformed(
      'The body holds a lone surrogate, which is not valid Unicode. Send both halves of the pair.',
    )
  return value
}
