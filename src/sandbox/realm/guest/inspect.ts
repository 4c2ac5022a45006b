/**
 * `util.inspect` and `util.format`: Node's own source, from the package `node-inspect-extracted`. Loading it takes
 * some 2 ms, so the first call does.
 */
type Util = Pick<
  typeof import('node:util'),
  'format' | 'formatWithOptions' | 'inspect' | 'stripVTControlCharacters'
>

const load = (): Util => {
  // the package reads `Atomics`, which contexts do not have (install.ts)
  Object.defineProperty(globalThis, 'Atomics', { value: {}, configurable: true })
  try {
    return require('node-inspect-extracted')
  } finally {
    Reflect.deleteProperty(globalThis, 'Atomics')
  }
}

let loaded: Util | undefined

const node = (): Util => {
  loaded ??= load()
  return loaded
}

const lazy = <Name extends keyof Util>(name: Name) =>
  ((...args: unknown[]) => Reflect.apply(node()[name], undefined, args)) as Util[Name]

export const format = lazy('format')
export const formatWithOptions = lazy('formatWithOptions')
export const stripVTControlCharacters = lazy('stripVTControlCharacters')
export const inspect = Object.defineProperties(lazy('inspect'), {
  custom: { value: Symbol.for('nodejs.util.inspect.custom'), enumerable: true },
  defaultOptions: {
    get: () => node().inspect.defaultOptions,
    set: (options) => {
      node().inspect.defaultOptions = options
    },
  },
})
