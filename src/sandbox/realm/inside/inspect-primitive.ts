/** Primitive values as `util.inspect` shows them. */
import type { Inspection } from './inspect-options.ts'

const ESCAPES: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '\\': '\\\\',
}

const escaped = (character: string): string =>
  ESCAPES[character] ?? `\\x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`

/** In the first of the three quotes that it does not hold. */
export const quote = (value: string): string => {
  const mark = ["'", '"', '`'].find((each) => !value.includes(each)) ?? "'"
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped
  const inner = value.replace(/[\x00-\x1f\x7f-\x9f\\]/g, escaped)
  return mark + (mark === "'" ? inner.replaceAll("'", "\\'") : inner) + mark
}

const number = (value: number): string => (Object.is(value, -0) ? '-0' : `${value}`)

const string = (value: string, { stringLength, breakLength, indent, level, compact }: Inspection): string => {
  const more = value.length - stringLength
  const shown = more > 0 ? value.slice(0, stringLength) : value
  const rest = more > 0 ? `... ${more} more character${more > 1 ? 's' : ''}` : ''
  // inside an object, long texts of several lines are shown line by line
  if (compact > 0 && level > 0 && shown.length > 16 && shown.length > breakLength - indent - 4)
    return (
      shown
        .split(/(?<=\n)/)
        .map(quote)
        .join(` +\n${' '.repeat(indent + 2)}`) + rest
    )
  return quote(shown) + rest
}

export const inspectPrimitive = (value: unknown, inspection: Inspection): string => {
  switch (typeof value) {
    case 'string':
      return string(value, inspection)
    case 'number':
      return number(value)
    case 'bigint':
      return `${value}n`
    default:
      return String(value)
  }
}
