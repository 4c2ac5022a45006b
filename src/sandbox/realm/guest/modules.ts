/** `require`: built-in modules, and the packages that the operator allows. */
import { settings } from './bridge.ts'
import { hasOwn, NativeError, slice, startsWith } from './intrinsics.ts'

/** Created by `../boot.ts`; runs modules when they are first required. */
interface Loader {
  readonly builtins: Readonly<Record<string, string>>
  readonly packages: Readonly<Record<string, string>>
  load(id: string): unknown
}

const loader: Loader = require('#loader')

const notFound = (name: string, why: string) => {
  const error = new NativeError(`Cannot find module '${slice(name, 0, 200)}'${why}`)
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
  if (builtin !== undefined) return loader.load(builtin)
  const id = loader.packages[name]
  if (id === undefined)
    throw notFound(
      name,
      ': only some modules of Node and the packages that the operator allows are available',
    )
  const { packages } = settings()
  for (let i = 0; i < packages.length; i++) if (packages[i] === name) return loader.load(id)
  throw notFound(name, '')
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
