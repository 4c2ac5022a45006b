/** Liquid's standard filters for text. */
import { badFilter } from '../errors.ts'
import { LIMITS } from '../limits.ts'
import {
  type FilterRule,
  type FilterRules,
  type InnerFilter,
  liquidText,
  patternArg,
  searching,
} from './filter.ts'

/** Units for each replacement and each element of a result. */
const PART = 0.5

/** Index after `count` characters from `from`; a surrogate pair is one character. */
const skipped = (text: string, from: number, count: number): number => {
  let at = from
  for (let passed = 0; passed < count && at < text.length; passed++)
    at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1
  return at
}

const split: InnerFilter = (value, args, name, use) => {
  const text = liquidText(value)
  const pattern = patternArg(args, 0, name)
  use(searching(text, pattern))
  const parts = text.split(pattern, LIMITS.list + 1)
  if (parts.length > LIMITS.list) throw badFilter(name, `makes at most ${LIMITS.list} parts.`)
  while (parts.at(-1) === '') parts.pop()
  return parts
}

/** Replaces all of `pattern` in `text`. */
const replaced = (
  text: string,
  pattern: string,
  by: string,
  name: string,
  use: (units: number) => void,
): string => {
  use(searching(text, pattern))
  const parts = text.split(pattern, LIMITS.list + 2)
  if (parts.length > LIMITS.list + 1) throw badFilter(name, `makes at most ${LIMITS.list} replacements.`)
  use(text.length * NATIVE + parts.length * (PART + by.length * NATIVE))
  return parts.join(by)
}

const replacedFirst = (text: string, pattern: string, by: string): string => {
  const at = text.indexOf(pattern)
  return at === -1 ? text : text.slice(0, at) + by + text.slice(at + pattern.length)
}

const replace: InnerFilter = (value, args, name, use) =>
  replaced(liquidText(value), patternArg(args, 0, name), liquidText(args[1]), name, use)

const remove: InnerFilter = (value, args, name, use) =>
  replaced(liquidText(value), patternArg(args, 0, name), '', name, use)

const first =
  (by: (args: readonly unknown[]) => string): InnerFilter =>
  (value, args, name, use) => {
    const text = liquidText(value)
    const pattern = patternArg(args, 0, name)
    use(searching(text, pattern))
    return replacedFirst(text, pattern, by(args))
  }

/** Removes the characters of the argument, or white space, at the start, the end or both. */
const stripped =
  (atStart: boolean, atEnd: boolean): InnerFilter =>
  (value, args, name) => {
    const text = liquidText(value)
    const chars = new Set(patternArg(args, 0, name))
    if (chars.size === 0) {
      const rest = atStart ? text.trimStart() : text
      return atEnd ? rest.trimEnd() : rest
    }
    const isStripped = (index: number) => chars.has(String.fromCodePoint(text.codePointAt(index) as number))
    let from = 0
    let to = text.length
    if (atStart) while (from < to && isStripped(from)) from = skipped(text, from, 1)
    if (atEnd)
      while (from < to) {
        const pair = to - from > 1 && (text.codePointAt(to - 2) as number) > 0xffff
        const last = to - (pair ? 2 : 1)
        if (!isStripped(last)) break
        to = last
      }
    return text.slice(from, to)
  }

const truncate: InnerFilter = (value, args) => {
  const text = liquidText(value)
  const length = Number(args[0] ?? 50)
  const ellipsis = liquidText(args[1] ?? '...')
  if (text.length <= length || skipped(text, 0, length) >= text.length) return value
  return text.slice(0, skipped(text, 0, Math.max(length - [...ellipsis].length, 0))) + ellipsis
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&#34;',
  "'": '&#39;',
}

const escapeHtml: InnerFilter = (value) =>
  liquidText(value).replace(/[&<>"']/g, (character) => ENTITIES[character] as string)

const urlEncode: InnerFilter = (value) => encodeURIComponent(liquidText(value)).replaceAll('%20', '+')

const urlDecode: InnerFilter = (value) => decodeURIComponent(liquidText(value).replaceAll('+', ' '))

const base64Decode: InnerFilter = (value, _args, name) => {
  const text = liquidText(value).replace(/[\t\n\f\r ]/g, '')
  const digits = text.length % 4 === 0 ? text.replace(/={1,2}$/, '') : text
  if (digits.length % 4 === 1 || !/^[A-Za-z0-9+/]*$/.test(digits)) throw badFilter(name, 'needs base64.')
  return Buffer.from(digits, 'base64').toString('utf8')
}

const joined =
  (join: (text: string, more: string) => string): InnerFilter =>
  (value, args, name) => {
    if (args.length === 0) throw badFilter(name, 'needs a text as argument 1.')
    return join(liquidText(value), liquidText(args[0]))
  }

/** Units for each character of a native operation on the complete text. */
const NATIVE = 1 / 16
/** Units for each character of a scan. */
const STEPPING = 1 / 2
/** Units for each character of a lookup or an encoding. */
const EACH = 1

const native = (run: InnerFilter): FilterRule => ({ run, rate: NATIVE, takesNull: true })
const opaque = (rule: FilterRule): FilterRule => ({ ...rule, forOpaque: 'not in URLs' })
const stepping = (run: InnerFilter): FilterRule => ({ run, rate: STEPPING, takesNull: true })
const each = (run: InnerFilter): FilterRule => ({ run, rate: EACH, takesNull: true })
const over = (change: (text: string) => string): FilterRule => native((value) => change(liquidText(value)))

export const textFilters: FilterRules = {
  append: { ...opaque(native(joined((text, more) => text + more))), takesVariables: true },
  prepend: { ...opaque(native(joined((text, more) => more + text))), takesVariables: true },
  upcase: opaque(over((text) => text.toUpperCase())),
  downcase: opaque(over((text) => text.toLowerCase())),
  capitalize: over((text) => text.charAt(0).toUpperCase() + text.slice(1).toLowerCase()),
  strip: each(stripped(true, true)),
  lstrip: each(stripped(true, false)),
  rstrip: each(stripped(false, true)),
  strip_newlines: over((text) => text.replace(/\r?\n/g, '')),
  split: native(split),
  replace: { ...native(replace), countsResult: true },
  replace_first: native(first((args) => liquidText(args[1]))),
  remove: { ...native(remove), countsResult: true },
  remove_first: native(first(() => '')),
  truncate: stepping(truncate),
  escape: opaque(each(escapeHtml)),
  url_encode: opaque(each(urlEncode)),
  url_decode: each(urlDecode),
  base64_encode: opaque(native((value) => Buffer.from(liquidText(value)).toString('base64'))),
  base64_decode: stepping(base64Decode),
}
