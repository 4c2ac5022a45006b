/** `require`: built-in modules. */
import { hasOwn, NativeError, slice, startsWith } from './intrinsics.ts'

/** Created by `../boot.ts`; runs modules when they are first required. */
interface Loader {
  readonly builtins: Readonly<Record<string, string>>
  load(id: string): unknown
}

const loader: Loader = require('#loader')

const notFound = (name: string) => {
  const error = new NativeError(
    `Cannot find module '${slice(name, 0, 200)}': only some modules of Node are available`,
  )
  return Object.assign(error, { code: 'MODULE_NOT_FOUND' })
}

/** Loads a module by name. Throws an error with `code` MODULE_NOT_FOUND. */
export const requireModule = (name: unknown): unknown => {
  if (typeof name !== 'string')
    throw Object.assign(new TypeError('The "id" argument must be of type string.'), {
      code: 'ERR_INVALID_ARG_TYPE',
    })
  const bare = startsWith(name, 'node:') ? slice(name, 5) : name
  const builtin = loader.builtins[bare]
  if (builtin === undefined) throw notFound(name)
  return loader.load(builtin)
}

/** The `require` of one module. */
export const createRequire = () => {
  const require = (name: unknown): unknown => requireModule(name)
  require.resolve = (name: string): string => {
    if (!hasOwn(loader.builtins, name)) requireModule(name)
    return name
  }
  require.cache = {}
  return require
}
