import { createRequire } from 'node:module'
import { AppError } from '../../../src/common/errors.ts'
import type { Json } from '../../../src/common/json.ts'
import { errorOf } from '../../../src/sandbox/realm/guest/failures.ts'
import {
  CustomHttpResponseError,
  ReactorError,
  typedErrors,
} from '../../../src/sandbox/realm/guest/typed-errors.ts'
import type { createService } from './service.ts'

type Run = (request: unknown) => unknown

const errors = { ReactorError, ...typedErrors, CustomHttpResponseError }
const OURS = ['sidevault', '@basis-theory/basis-theory-reactor-formulas-sdk-js']

const nodeRequire = createRequire(import.meta.url)
const require = (name: string): unknown => (OURS.includes(name) ? errors : nodeRequire(name))

/** The function that the text exports, on plain Node. */
export const load = async (code: string): Promise<Run> => {
  if (/^import /m.test(code))
    return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).default
  const module = { exports: {} as Run & { readonly default?: Run } }
  new Function('exports', 'require', 'module', code)(module.exports, require, module)
  return module.exports.default ?? module.exports
}

/** `bt` on plain Node, with errors of the classes that code knows. */
export const createBt = ({ call }: ReturnType<typeof createService>) => {
  const asked =
    (method: string) =>
    (...args: Json[]) =>
      call(method, args).catch((error) => {
        throw error instanceof AppError
          ? errorOf({ name: error.name, message: error.message, status: error.status })
          : error
      })
  const names = ['create', 'retrieve', 'update', 'delete', 'list', 'search']
  return {
    tokens: Object.fromEntries(names.map((name) => [name, asked(`tokens.${name}`)])),
    tokenize: asked('tokenize'),
    detokenize: asked('detokenize'),
    reactors: { react: asked('reactors.react') },
  }
}
