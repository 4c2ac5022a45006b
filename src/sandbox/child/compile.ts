import { compileFunction } from 'node:vm'
import type ivm from 'isolated-vm'
import type { CodeIssue } from '../../sdk/index.ts'
import { INSTALL } from '../realm/abi.ts'

/**
 * Code as an isolate holds it, with the script that gives a context's `enter` (`../realm/abi.ts`). A module is compiled
 * again in each context, from its cached form.
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

/** What a parser says when it reads an ES module as a script. */
const MODULE_ONLY =
  /import statement outside a module|Unexpected token 'export'|import\.meta|await is only valid/

const TOO_DEEP = 'It is too deeply nested to be parsed.'

/** isolated-vm ends the message of a syntax error with its place: `Unexpected token '}' [request_transform:3:7]`. */
const isolateIssue = (thrown: unknown): CodeIssue => {
  const message = thrown instanceof SyntaxError ? thrown.message : TOO_DEEP
  const [, text = message, line = '1', column = '1'] =
    /^([\s\S]*) \[[^\]]*:(\d+):(\d+)\]$/.exec(message) ?? []
  return { line: Number(line), column: Number(column), message: text.slice(0, MAX_MESSAGE) }
}

/** Node puts `code:3`, the line itself, and a caret below the place above the stack of a syntax error. */
const placeIn = (stack: string, code: string): { line: number; column: number } => {
  const lines = stack.split('\n')
  const line = Number(/:(\d+)$/.exec(lines[0] ?? '')?.[1] ?? 1)
  const caret = lines.slice(1, 4).find((text) => /^\s*\^+\s*$/.test(text))
  // without a caret it is the end of what there is
  return { line, column: (caret?.indexOf('^') ?? code.split('\n')[line - 1]?.length ?? 0) + 1 }
}

/**
 * Why the code is no body of a CommonJS module. Asked of Node's parser and not of the wrapped script: that also parses when
 * code closes the wrapper, and tells of its end in places that the author has not written.
 */
const scriptIssue = (code: string, name: string): CodeIssue | undefined => {
  try {
    compileFunction(code, [...PARAMETERS], { filename: name })
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) return { line: 1, column: 1, message: TOO_DEEP }
    return { ...placeIn(thrown.stack ?? '', code), message: thrown.message.slice(0, MAX_MESSAGE) }
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
    // two parsers need not agree, least of all on how much stack there is
    return { kind: 'invalid', issues: [isolateIssue(thrown)] }
  }
}

/** Compiles without running. CommonJS is tried first; what only a module may hold is compiled as one. Never throws. */
export const compile = (isolate: ivm.Isolate, text: string, name: string): Compiled => {
  const code = text.replace(/^#!/, '//')
  const issue = scriptIssue(code, name)
  if (issue !== undefined)
    return MODULE_ONLY.test(issue.message)
      ? compileModule(isolate, code, name)
      : { kind: 'invalid', issues: [issue] }
  return compileScript(isolate, code, name)
}
