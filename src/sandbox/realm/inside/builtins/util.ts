/** `util`, the package of that name, with our `inspect` and what came to Node after it. */
import { format } from '../format.ts'
import { inspect } from '../inspect.ts'
import { TextDecoder, TextEncoder } from '../text-coding.ts'

const old: typeof import('node:util') = require('util/util.js')
const comparisons: {
  isDeepEqual(a: unknown, b: unknown): boolean
  isDeepStrictEqual(a: unknown, b: unknown): boolean
} = require('assert/build/internal/util/comparisons.js')

const { isDeepStrictEqual } = comparisons

const stripVTControlCharacters = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  text.replace(/\u001b\[[0-9;]*[A-Za-z]/g, '')

const promisify = Object.assign(
  (original: Parameters<typeof old.promisify>[0] & { readonly [custom: symbol]: unknown }) => {
    const own = original[Symbol.for('nodejs.util.promisify.custom')]
    return typeof own === 'function' ? own : old.promisify(original)
  },
  { custom: Symbol.for('nodejs.util.promisify.custom') },
)

export const builtin = Object.assign({}, old, {
  format,
  formatWithOptions: (_options: unknown, ...values: readonly unknown[]): string => format(...values),
  inspect,
  isDeepStrictEqual,
  promisify,
  stripVTControlCharacters,
  toUSVString: (text: unknown): string => String(text).toWellFormed(),
  TextDecoder,
  TextEncoder,
})
