/** Entry points of the realm (`../abi.ts`, RealmEnter). */
import type { LoadVerdict, RealmEnter, RealmHost } from '../abi.ts'
import { openBridge, settle } from './bridge.ts'
import { printed } from './console-buffer.ts'
import { framesOf } from './frames.ts'
import { apply, indexOf, isSafeInteger, number, ownKeys, parse, slice, stringify } from './intrinsics.ts'
import { createRequire } from './modules.ts'
import { fail, succeed } from './outcome.ts'
import { createSdk } from './sdk.ts'

export type Code = (...args: readonly unknown[]) => unknown

/** The body of a CommonJS module, until it is loaded; the function that it exports. */
let body: Code | undefined
let main: Code | undefined

export const setBody = (code: Code | undefined): void => {
  body = code
}

// serialized in the snapshot: code cannot change these with `toJSON` on Object.prototype
const FUNCTION = stringify({ kind: 'function' } satisfies LoadVerdict)
const NO_FUNCTION = stringify({
  kind: 'no-function',
  message: 'The code exports no function: write module.exports = async function (req) { … }.',
} satisfies LoadVerdict)

const position = (name: 'line' | 'column', value: number): string =>
  isSafeInteger(value) ? `,"${name}":${value}` : ''

const threw = (error: unknown): string => {
  let message = 'The code threw while loading.'
  try {
    message = slice(`${error instanceof Error ? `${error.name}: ${error.message}` : error}`, 0, 1_000)
  } catch {
    // the error cannot be printed
  }
  const frame = framesOf(error)[0] ?? ''
  const colon = indexOf(frame, ':')
  const next = indexOf(frame, ':', colon + 1)
  const line = position('line', number(slice(frame, colon + 1, next)))
  const column = position('column', number(slice(frame, next + 1)))
  return `{"kind":"threw","message":${stringify(message)}${line}${column}}`
}

/** Stores the exported function, and returns the verdict. */
const verdictOn = (exported: unknown): string => {
  const inner =
    typeof exported === 'object' && exported !== null
      ? (exported as { readonly default?: unknown }).default
      : undefined
  const candidate = typeof exported === 'function' ? exported : inner
  if (typeof candidate !== 'function') return NO_FUNCTION
  main = candidate as Code
  return FUNCTION
}

const load = (text: Code): string => {
  try {
    const module = { exports: {} }
    apply(text, module.exports, [module.exports, createRequire(), module, '/code/index.js', '/code'])
    return verdictOn(module.exports)
  } catch (error) {
    return threw(error)
  }
}

const open = (host: RealmHost, settings: string): string | undefined => {
  openBridge({ host, settings: parse(settings) })
  return body && load(body)
}

const namespaced = (namespace: unknown): string => {
  try {
    const { default: exported } = namespace as { readonly default?: unknown }
    return verdictOn(exported)
  } catch (error) {
    return threw(error)
  }
}

const exportsOf = (name: string): string => {
  try {
    const exported = createRequire()(name)
    if ((typeof exported !== 'object' && typeof exported !== 'function') || exported === null) return '[]'
    const names = ownKeys(exported)
    const texts: string[] = []
    for (let i = 0; i < names.length; i++)
      if (typeof names[i] === 'string') texts[texts.length] = names[i] as string
    return stringify(texts)
  } catch {
    return 'null'
  }
}

const start = async (argumentJson: string, sdk: boolean): Promise<void> => {
  try {
    const argument = parse(argumentJson)
    if (sdk && typeof argument === 'object' && argument !== null) argument.bt = createSdk()
    succeed(await main?.(argument))
  } catch (error) {
    fail(error)
  }
}

const dispatch = (entry: string, first: unknown, second: unknown): string | undefined => {
  switch (entry) {
    case 'open':
      return open(first as RealmHost, second as string)
    case 'namespace':
      return namespaced(first)
    case 'exports':
      return exportsOf(first as string)
    case 'start':
      void start(first as string, second as boolean)
      return undefined
    case 'settle':
      settle(first as number, second as string)
      return undefined
    case 'console':
      return printed()
    default:
      return undefined
  }
}

export const enter = ((entry: string, first: unknown, second: unknown): string | undefined => {
  try {
    return dispatch(entry, first, second)
  } catch (error) {
    fail(error)
    return undefined
  }
}) as RealmEnter
