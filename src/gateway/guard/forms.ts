/** The ways in which a response may write a value: what the scanner searches for. */
/**
 * What stands in the place of a form: `plain` and `percent` an expression, the others the id of the token. `utf16` is
 * text without its outer zero byte, which is the same bytes in both byte orders.
 */
export type FormKind = 'plain' | 'percent' | 'encoded' | 'utf16' | 'utf16le' | 'utf16be'

export interface Form {
  readonly bytes: Buffer
  readonly kind: FormKind
}

const MAX_FORMS = 50

/** Values without such characters are the same in JSON, XML and URLs. */
const ESCAPED_IN_JSON = /["&'+/<=>\\`]|[^ -~]/
const ESCAPED_IN_XML = /["&'<>]|[^ -~]/
const ESCAPED_IN_URLS = /[^\w.-]/

/** UTF-16 units that match, as JSON escapes them. */
const escapeUnits = (json: string, units: RegExp, isUpper = false): string =>
  json.replace(units, (unit) => {
    const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
    return `\\u${isUpper ? hex.toUpperCase() : hex}`
  })

const BEYOND_ASCII = /[\u0080-\uffff]/
const BEYOND_LATIN1 = /[\u0100-\uffff]/
const NON_ASCII = /[\u0080-\uffff]/g
/** Go and Rails; Gson; System.Text.Json of .NET. */
const HTML_SAFE = /[<>&\u2028\u2029]/g
const GSON = /[<>&='\u2028\u2029]/g
const DOTNET = /[<>&'+`\u007f-\uffff]/g

const jsonForms = (value: string): readonly string[] => {
  const json = JSON.stringify(value).slice(1, -1)
  const slashed = json.replaceAll('/', '\\/')
  return [
    json,
    slashed,
    ...[json, slashed].flatMap((text) => [escapeUnits(text, NON_ASCII), escapeUnits(text, NON_ASCII, true)]),
    escapeUnits(json, HTML_SAFE),
    escapeUnits(json, GSON),
    escapeUnits(json.replaceAll('\\"', '\\u0022'), DOTNET, true),
  ]
}

/** References for `>`, `"` and `'` as serializers and template languages write them; `&` and `<` are always named. */
const XML_STYLES: readonly (readonly [greater: string, quote: string, apostrophe: string])[] = [
  ['&gt;', '"', "'"],
  ['&gt;', '&quot;', '&apos;'],
  ['&gt;', '&quot;', "'"],
  ['&gt;', '&quot;', '&#39;'],
  ['&gt;', '&#34;', '&#39;'],
  ['&gt;', '&quot;', '&#x27;'],
  ['&gt;', '&quot;', '&#039;'],
  ['>', '&quot;', "'"],
  ['>', '"', "'"],
]

const decimal = (character: string) => `&#${character.codePointAt(0)};`
const hex = (character: string) => `&#x${character.codePointAt(0)?.toString(16)};`
const upperHex = (character: string) => `&#x${character.codePointAt(0)?.toString(16).toUpperCase()};`

const xmlForms = (value: string): readonly string[] => {
  const named = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const styled = XML_STYLES.map(([greater, quote, apostrophe]) =>
    named.replaceAll('>', greater).replaceAll('"', quote).replaceAll("'", apostrophe),
  )
  const numeric = styled
    .slice(0, 2)
    .flatMap((text) =>
      [/[^\0-\x7f]/gu, /[^\x20-\x7f]/gu].flatMap((characters) =>
        [decimal, hex, upperHex].map((reference) => text.replace(characters, reference)),
      ),
    )
  return [...styled, ...numeric]
}

const octet = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/** What is escaped differs by library; blanks are `%20` or `+`, digits of escapes of either case. */
const percentForms = (value: string): readonly string[] => {
  const text = value.toWellFormed()
  const component = encodeURIComponent(text)
  const strict = component.replace(/[!'()*]/g, octet)
  const form = component.replace(/[!'()~]/g, octet)
  const forms = [strict, form, component, encodeURI(text)]
  if (text.includes('/')) forms.push(strict.replaceAll('%2F', '/'))
  if (text.includes(' ')) forms.push(...forms.map((encoded) => encoded.replaceAll('%20', '+')))
  return [...forms, ...forms.map((encoded) => encoded.replace(/%../g, (escaped) => escaped.toLowerCase()))]
}

/** The characters of base64 that the bytes alone determine, when `offset` bytes modulo 3 stand before them. */
const base64At = (bytes: Buffer, offset: number): string =>
  Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .slice(Math.ceil((8 * offset) / 6), Math.floor((8 * (offset + bytes.length)) / 6))

const encodedForms = (bytes: Buffer): readonly string[] => {
  const hexadecimal = bytes.toString('hex')
  const base64 = [0, 1, 2].map((offset) => base64At(bytes, offset))
  return [
    hexadecimal,
    hexadecimal.toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

const utf16Forms = (value: string): readonly Form[] => {
  const bytes = Buffer.from(value, 'utf16le')
  if (!BEYOND_LATIN1.test(value)) return [{ bytes: bytes.subarray(0, -1), kind: 'utf16' }]
  return [
    { bytes, kind: 'utf16le' },
    { bytes: Buffer.from(bytes).swap16(), kind: 'utf16be' },
  ]
}

/** Luhn (ISO/IEC 7812-1 annex B). */
const passesLuhn = (digits: string): boolean => {
  let sum = 0
  for (let at = digits.length - 1, isDouble = false; at >= 0; at--, isDouble = !isDouble) {
    const digit = digits.charCodeAt(at) - 48
    sum += isDouble ? (digit > 4 ? 2 * digit - 9 : 2 * digit) : digit
  }
  return sum % 10 === 0
}

/** A card number without and with blanks or dashes between its groups. */
const cardForms = (value: string): readonly string[] => {
  const digits = /^\d[\d -]{11,22}\d$/.test(value) ? value.replace(/[ -]/g, '') : ''
  if (digits.length < 13 || digits.length > 19 || !passesLuhn(digits)) return []
  const groups = digits.match(digits.length === 15 ? /^\d{4}|\d{6}(?=\d{5}$)|\d{5}$/g : /\d{1,4}/g) ?? []
  return [digits, groups.join(' '), groups.join('-')]
}

/** At most 50 forms of a value, each once; the escaped ones only when `isEncoded` is false. */
export const formsOf = (value: string, isEncoded: boolean): readonly Form[] => {
  const kinds = new Map<string, FormKind>([[value, 'plain']])
  const add = (texts: readonly string[], kind: FormKind): void => {
    for (const text of texts) if (!kinds.has(text)) kinds.set(text, kind)
  }
  const isLatin1 = BEYOND_ASCII.test(value) && !BEYOND_LATIN1.test(value)
  const others: Form[] = isLatin1 ? [{ bytes: Buffer.from(value, 'latin1'), kind: 'plain' }] : []
  if (isEncoded) {
    add(cardForms(value), 'plain')
    add(encodedForms(Buffer.from(value)), 'encoded')
    others.push(...utf16Forms(value))
  }
  if (ESCAPED_IN_JSON.test(value)) add(jsonForms(value), 'plain')
  if (ESCAPED_IN_XML.test(value)) add(xmlForms(value), 'plain')
  if (ESCAPED_IN_URLS.test(value)) add(percentForms(value), 'percent')
  const forms = [...kinds].slice(0, MAX_FORMS - others.length)
  return [...forms.map(([text, kind]): Form => ({ bytes: Buffer.from(text), kind })), ...others]
}
