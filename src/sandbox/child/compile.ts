import { compileFunction } from 'node:vm'
import type ivm from 'isolated-vm'
import type { CodeIssue } from '../../sdk/index.ts'
import { INSTALL } from '../realm/abi.ts'

/**
 * Compiled code, with the script that returns a context's `enter` (`../realm/abi.ts`). Each context compiles a module
 * again, from the code cache.
 */
export type Compiled =
  | { readonly kind: 'commonjs'; readonly script: ivm.Script }
  | {
      readonly kind: 'module'
      readonly script: ivm.Script
      readonly text: string
      readonly cached: ivm.ExternalCopy<ArrayBuffer> | undefined
    }
  | { readonly kind: 'invalid'; readonly issues: readonly CodeIssue[] }

/** Code that parses. */
export type Usable = Exclude<Compiled, { readonly kind: 'invalid' }>

const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname'] as const
const HEAD = `${INSTALL}(function (${PARAMETERS.join(', ')}) {`
const TAIL = '\n})'
const MAX_MESSAGE = 300

/** Messages of the parser for an ES module read as a script. */
const MODULE_ONLY =
  /import statement outside a module|Unexpected token 'export'|import\.meta|await is only valid/

const TOO_DEEP = 'The code is too deeply nested to be parsed.'

/**
 * isolated-vm appends the location to the message of a syntax error: `Unexpected token '}' [request_transform:3:7]`.
 */
const isolateIssue = (thrown: unknown): CodeIssue => {
  const message = thrown instanceof SyntaxError ? thrown.message : TOO_DEEP
  const [, text = message, line = '1', column = '1'] =
    /^([\s\S]*) \[[^\]]*:(\d+):(\d+)\]$/.exec(message) ?? []
  return { line: Number(line), column: Number(column), message: text.slice(0, MAX_MESSAGE) }
}

/** Location of a syntax error. Node prints `code:3`, the line itself and a caret above its stack. */
const locationIn = (stack: string, code: string): { line: number; column: number } => {
  const lines = stack.split('\n')
  const line = Number(/:(\d+)$/.exec(lines[0] ?? '')?.[1] ?? 1)
  const caret = lines.slice(1, 4).find((text) => /^\s*\^+\s*$/.test(text))
  // without a caret the location is the end of the line
  return { line, column: (caret?.indexOf('^') ?? code.split('\n')[line - 1]?.length ?? 0) + 1 }
}

/**
 * Syntax error of a CommonJS body, by Node's parser. The wrapped script is not used for this: it also parses when code
 * closes the wrapper, and its locations include the wrapper.
 */
const scriptIssue = (code: string, name: string): CodeIssue | undefined => {
  try {
    compileFunction(code, [...PARAMETERS], { filename: name })
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) return { line: 1, column: 1, message: TOO_DEEP }
    return { ...locationIn(thrown.stack ?? '', code), message: thrown.message.slice(0, MAX_MESSAGE) }
  }
}

const compileModule = (isolate: ivm.Isolate, text: string, name: string): Compiled => {
  try {
    const module = isolate.compileModuleSync(text, { filename: name, produceCachedData: true })
    const { cachedData } = module as ivm.CachedDataResult
    module.release()
    return { kind: 'module', script: isolate.compileScriptSync(`${INSTALL}()`), text, cached: cachedData }
  } catch (thrown) {
    return { kind: 'invalid', issues: [isolateIssue(thrown)] }
  }
}

const compileScript = (isolate: ivm.Isolate, code: string, name: string): Compiled => {
  const options = { filename: name, columnOffset: -HEAD.length }
  try {
    return { kind: 'commonjs', script: isolate.compileScriptSync(`${HEAD}${code}${TAIL}`, options) }
  } catch (thrown) {
    // the parsers may differ, e.g. in available stack
    return { kind: 'invalid', issues: [isolateIssue(thrown)] }
  }
}

/** Compiles without running: as CommonJS, or as an ES module when the code has syntax of modules only. Never throws. */
export const compile = (isolate: ivm.Isolate, text: string, name: string): Compiled => {
  const code = text.replace(/^#!/, '//')
  const issue = scriptIssue(code, name)
  if (issue !== undefined)
    return MODULE_ONLY.test(issue.message)
      ? compileModule(isolate, code, name)
      : { kind: 'invalid', issues: [issue] }
  return compileScript(isolate, code, name)
}
