/** `require`: the modules of Node that are here, and the packages that the operator allows. */
import { settings } from './bridge.ts'
import { hasOwn, NativeError, slice, startsWith } from './intrinsics.ts'

/** Put together by `../sources.ts`: functions that hold the modules' texts, run when they are first asked for. */
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

/** A module by the name that customers' code gives. Throws an error with `code` MODULE_NOT_FOUND. */
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
    throw notFound(name, ': code that runs here may load some modules of Node and what its operator allows')
  const { packages } = settings()
  for (let i = 0; i < packages.length; i++) if (packages[i] === name) return loader.load(id)
  throw notFound(name, '')
}

/** The `require` that one module of customers' code is given. */
export const createRequire = () => {
  const require = (name: unknown): unknown => requireModule(name)
  require.resolve = (name: string): string => {
    if (!hasOwn(loader.builtins, name)) requireModule(name)
    return name
  }
  require.cache = {}
  return require
}
