/**
 * Values and expressions inside XML: escaped and unescaped for the place that they stand in (XML 1.0 §2.2, §2.4, §2.7,
 * §4.1).
 */
import { badExpression } from '../../expressions/errors.ts'

/** Where XML may hold an expression. */
export type XmlPlace = 'text' | 'attribute' | 'CDATA'

// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that XML 1.0 excludes
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/

/**
 * Markup, what parsers turn into something else, and `]`, which with a `]>` behind it would be the end of a CDATA
 * section.
 */
const ESCAPED: Readonly<Record<XmlPlace, RegExp>> = {
  text: /[&<>\]\r\u007f-\u009f\u2028]/g,
  attribute: /[&<>"'\t\n\r\u007f-\u009f\u2028]/g,
  CDATA: /[>\]\r\u007f-\u009f\u2028]/,
}

const REFERENCES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

const referenceTo = (character: string) => REFERENCES[character] ?? `&#${character.charCodeAt(0)};`

/**
 * A value as XML whose parser gives the value back. Throws `invalid_expression` for characters that XML cannot hold.
 */
export const escapeXml = (value: string, place: XmlPlace): string => {
  if (FORBIDDEN.test(value) || !value.isWellFormed())
    throw badExpression('A value has a character that XML cannot hold. Encode it, e.g. with "base64_encode".')
  if (place !== 'CDATA') return value.replace(ESCAPED[place], referenceTo)
  // Nothing at all could join a "]" before it with a "]>" behind it.
  if (value !== '' && !ESCAPED.CDATA.test(value)) return value
  return `]]>${value.replace(ESCAPED.text, referenceTo)}<![CDATA[`
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const characterOf = (reference: string): string => {
  if (Object.hasOwn(ENTITIES, reference)) return ENTITIES[reference] ?? ''
  const [, hex, decimal] = /^#(?:x([0-9a-fA-F]{1,6})|([0-9]{1,7}))$/.exec(reference) ?? []
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  if (!(code <= 0x10ffff))
    throw badExpression('An expression holds a "&" that is no character reference. Write it as "&amp;".')
  return String.fromCodePoint(code)
}

/** An expression as it is meant, e.g. with `&quot;` for a quote in an attribute. Throws `invalid_expression`. */
export const unescapeXml = (expression: string): string =>
  expression.replace(/&(?:([^;&]{1,10});)?/g, (_whole, reference?: string) => characterOf(reference ?? ''))

/** Whether each `&` begins a complete reference: a value after a partial one would become part of it. */
export const hasWholeReferences = (text: string): boolean =>
  !text.includes('&') || !text.replace(/&(?:#\d+|#x[\da-fA-F]+|[^\s;&#<]+);/g, '').includes('&')
