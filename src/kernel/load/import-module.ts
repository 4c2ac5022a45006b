import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isObject } from '../../common/json.ts'

/** Modules that plugins outside this project import by its name, wherever they are. */
const OWN: Readonly<Record<string, string>> = {
  'sidevault/sdk': new URL('../../sdk/index.ts', import.meta.url).href,
  'sidevault/testing': new URL('../../testing/index.ts', import.meta.url).href,
}

/** An npm name and the folder to resolve it from, as one specifier for `import()`. */
const NPM = 'sidevault-npm:'

let hooked = false

/**
 * Lets all modules import `sidevault/sdk` (and tests `sidevault/testing`). It is the same module instance, so that an
 * `AppError` of a plugin is an instance of ours. Idempotent.
 */
export const provideSdk = (): void => {
  if (hooked) return
  hooked = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const own = OWN[specifier]
      if (own !== undefined) return { url: own, shortCircuit: true }
      if (!specifier.startsWith(NPM)) return next(specifier, context)
      const [name, parentURL] = JSON.parse(decodeURIComponent(specifier.slice(NPM.length)))
      return next(name, { ...context, parentURL })
    },
  })
}

export type Module = Readonly<Record<string, unknown>>

export const importFile = (path: string): Promise<Module> => import(pathToFileURL(path).href)

/** The package as a module in the folder `base` would import it, export conditions included. */
export const importNpm = (name: string, base: string): Promise<Module> =>
  import(NPM + encodeURIComponent(JSON.stringify([name, pathToFileURL(join(base, 'package.json')).href])))

const codeOf = (thrown: unknown) => (isObject(thrown) ? String(thrown.code) : '')

/** `@scope/name` of `@scope/name/part`. */
const packageOf = (name: string) =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')

/** True when the package does not exist, as opposed to a missing part of it. */
export const isAbsent = (thrown: unknown, name: string): boolean =>
  codeOf(thrown) === 'ERR_MODULE_NOT_FOUND' &&
  (thrown as Error).message.startsWith(`Cannot find package '${packageOf(name)}' imported from`)

/** The fix for a module that failed to load. */
export const fixOf = (thrown: unknown): string => {
  const message = thrown instanceof Error ? thrown.message : ''
  switch (codeOf(thrown)) {
    case 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING':
      return 'Node runs no TypeScript below node_modules: publish JavaScript.'
    case 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX':
      return 'Use TypeScript whose types can be left out: no enum, no namespace, no parameter properties.'
    case 'ERR_MODULE_NOT_FOUND':
      if (message.startsWith("Cannot find package 'typebox'"))
        return 'Import Type from "sidevault/sdk", or install typebox beside the plugin.'
      return message.startsWith('Cannot find package')
        ? "Install it in the plugin's own folder with npm."
        : 'Correct the import; relative ones end in .ts or .js.'
    default:
      return 'Repair the module, or remove it from the list.'
  }
}
