/**
 * Node asks the file system half a dozen things about each module: its real path, the package it is in, its kind. A start
 * loads nearly a thousand, so that takes a third of loading them. A relative name with an extension, written in our own
 * sources or in a package of modules only, says all of it already.
 */
import { registerHooks } from 'node:module'

const SOURCES = ['../src/', '../test/'].map((path) => new URL(path, import.meta.url).href)
/** The packages of hundreds of modules each. */
const MODULES_ONLY = /\/node_modules\/(?:kysely|typebox)\/[^?]*$/

/**
 * @param {string} specifier
 * @param {string | undefined} parent
 * @returns {string | undefined}
 */
const formatOf = (specifier, parent) => {
  if (!specifier.startsWith('.') || parent === undefined) return undefined
  if (specifier.endsWith('.ts'))
    return SOURCES.some((path) => parent.startsWith(path)) ? 'module-typescript' : undefined
  return /\.m?js$/.test(specifier) && MODULES_ONLY.test(parent) ? 'module' : undefined
}

registerHooks({
  resolve(specifier, context, next) {
    const format = formatOf(specifier, context.parentURL)
    if (format === undefined) return next(specifier, context)
    return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true }
  },
})
