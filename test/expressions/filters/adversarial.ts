/**
 * Values and arguments that make filters slow, by filter, at a size; what counts and what measures their cost share
 * them.
 */
import type { Json } from '../../../src/common/json.ts'

export interface Case {
  readonly value: Json
  readonly args: readonly Json[]
}

const shades = (size: number): readonly Json[] => [
  'a'.repeat(size),
  'ß'.repeat(size),
  '𝒳'.repeat(size / 2),
  '&'.repeat(size),
  ' '.repeat(size),
  '%41'.repeat(size / 3),
  '1'.repeat(size),
  '+ '.repeat(size / 2),
  `${'\r'.repeat(size - 1)}x`,
  Array.from({ length: size / 8 }, () => 0),
  Array.from({ length: size / 32 }, (_, at) => ({ a: [at, 'xy'] })),
  Object.fromEntries(Array.from({ length: size / 16 }, (_, at) => [`m${at}`, at])),
]

/** Text against a pattern: each place agrees for long, or changes. */
const searches = (size: number): readonly (readonly [Json, Json])[] => [
  ['a'.repeat(size), `b${'a'.repeat(255)}`],
  ['a'.repeat(size), `${'a'.repeat(255)}b`],
  ['a'.repeat(size), `${'a'.repeat(128)}b${'a'.repeat(127)}`],
  ['a'.repeat(size), 'aaaab'],
  ['ß'.repeat(size), `x${'ß'.repeat(255)}`],
  ['ab'.repeat(size / 2), 'b'],
  ['a'.repeat(size), ''],
]

const searching = (size: number, ...more: readonly Json[]): readonly Case[] =>
  searches(size).map(([value, pattern]) => ({ value, args: [pattern, ...more] }))

const every = (values: readonly Json[], ...lists: readonly (readonly Json[])[]): readonly Case[] =>
  values.flatMap((value) => lists.map((args) => ({ value, args })))

const KEEP = Array.from({ length: 250 }, (_, at) => String.fromCharCode(0x100 + at)).join('')
const PATHS = [
  '$.a',
  '$..a',
  '$..zz',
  '$[?@.zz == 1]',
  '$..[?@.a == 1]',
  `$..[?@${'.a'.repeat(100)}]`,
  '$..[?@ == @]',
  '$..[?count(@.*.*) > 99]',
  `$${'[0,0]'.repeat(4)}`,
  '$..[*].b',
  `$${'.a'.repeat(127)}`,
]

/** Standard and other filters that take no arguments have the values alone. */
const SPECIAL: Readonly<Record<string, (size: number) => readonly Case[]>> = {
  reveal_last: (size) => every(shades(size), [1, '#']),
  reveal: (size) => every(shades(size), [1, 1, '#', KEEP]),
  card_mask: (size) => every(shades(size), ['true', 'true', '#', KEEP]),
  card_bin: (size) => searching(size),
  card_exp: (size) => every([...shades(size), { expiration_month: 1, expiration_year: 2030 }], ['MM/YYYY']),
  pad_left: (size) => every(shades(size), [10_000, '𝒳']),
  pad_right: (size) => every(shades(size), [10_000, 'x']),
  hmac: (size) => every(shades(size), ['sha-1', 'k'.repeat(size)], ['sha-512', 'k']),
  json: (size) => [
    ...every(shades(size), []),
    ...PATHS.flatMap((path) => every(shades(size).slice(-3), [path])),
  ],
  append: (size) => every(shades(size), ['b'.repeat(size)]),
  prepend: (size) => every(shades(size), ['ß'.repeat(size)]),
  strip: (size) => every(shades(size), [], [' &'], [`${KEEP}aß𝒳`]),
  lstrip: (size) => every(shades(size), [], [`${KEEP}aß𝒳`]),
  rstrip: (size) => every(shades(size), [], [`${KEEP}aß𝒳`]),
  split: (size) => searching(size),
  replace: (size) => [...searching(size, 'zz'), ...searching(size, 'z'.repeat(size))],
  replace_first: (size) => searching(size, 'z'.repeat(size)),
  remove: (size) => searching(size),
  remove_first: (size) => searching(size),
  truncate: (size) => every(shades(size), [size - 1, '…'], [5, 'x'.repeat(size)]),
  slice: (size) => every(shades(size), [1, size], [-size, 1e300]),
  join: (size) => every(shades(size), [], ['z'.repeat(100)]),
  default: (size) => every(shades(size), [1]),
  round: (size) => every(shades(size), [2], [1e300]),
  divided_by: (size) => every(shades(size), [3, '1'.repeat(size)]),
  date: (size) =>
    every([...shades(size), 'now', 0, '2024-02-29T10:00:00Z'], ['%A'.repeat(128), -120], ['%256c']),
}

/** Those of the standard filters over numbers that take an argument. */
const BY_NUMBER = ['plus', 'minus', 'times', 'modulo', 'at_least', 'at_most']

/** For a filter that is not known here, each value with arguments that many would take. */
export const casesOf = (name: string, size: number): readonly Case[] =>
  SPECIAL[name]?.(size) ??
  (BY_NUMBER.includes(name) ? every(shades(size), ['1'.repeat(size)]) : every(shades(size), []))
