import { compileFunction } from 'node:vm'
import type ivm from 'isolated-vm'
import type { CodeFault } from '../../sdk/index.ts'

/** Code as an isolate holds it; a module is compiled again in each context, from its cached form. */
export type Compiled =
  | { readonly kind: 'commonjs'; readonly script: ivm.Script }
  | {
      readonly kind: 'module'
      readonly text: string
      readonly cached: ivm.ExternalCopy<ArrayBuffer> | undefined
    }
  | { readonly kind: 'faulty'; readonly faults: readonly CodeFault[] }

const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname'] as const
const HEAD = `(function (${PARAMETERS.join(', ')}) {`
const TAIL = '\n})'
const MAX_MESSAGE = 300

/** What a parser says when it reads an ES module as a script. */
const MODULE_ONLY =
  /import statement outside a module|Unexpected token 'export'|import\.meta|await is only valid/

/** isolated-vm ends the message of a syntax error with its place: `Unexpected token '}' [request_transform:3:7]`. */
const faultOf = (thrown: unknown): CodeFault => {
  const message = thrown instanceof Error ? thrown.message : ''
  const [, text = message, line = '1', column = '1'] =
    /^([\s\S]*) \[[^\]]*:(\d+):(\d+)\]$/.exec(message) ?? []
  return {
    line: Math.max(1, Number(line)),
    column: Math.max(1, Number(column)),
    message:
      thrown instanceof SyntaxError ? text.slice(0, MAX_MESSAGE) : 'It is too deeply nested to be parsed.',
  }
}

/** Code that closes the wrapper parses with it and is still no module's body; Node's own parser sees that. */
const breaksOut = (code: string, name: string): CodeFault | undefined => {
  try {
    compileFunction(code, [...PARAMETERS], { filename: name })
    return undefined
  } catch (thrown) {
    const place = /:(\d+)\n/.exec(thrown instanceof Error ? (thrown.stack ?? '') : '')
    return { ...faultOf(thrown), line: Number(place?.[1] ?? 1) }
  }
}

const asModule = (isolate: ivm.Isolate, text: string, name: string): Compiled => {
  try {
    const module = isolate.compileModuleSync(text, { filename: name, produceCachedData: true })
    const { cachedData } = module as ivm.CachedDataResult
    module.release()
    return { kind: 'module', text, cached: cachedData }
  } catch (thrown) {
    return { kind: 'faulty', faults: [faultOf(thrown)] }
  }
}

/** Compiles without running. CommonJS is tried first; what only a module may hold is compiled as one. */
export const compile = (isolate: ivm.Isolate, code: string, name: string): Compiled => {
  try {
    const script = isolate.compileScriptSync(`${HEAD}${code}${TAIL}`, {
      filename: name,
      columnOffset: -HEAD.length,
    })
    const fault = breaksOut(code, name)
    return fault === undefined ? { kind: 'commonjs', script } : { kind: 'faulty', faults: [fault] }
  } catch (thrown) {
    const fault = faultOf(thrown)
    return MODULE_ONLY.test(fault.message)
      ? asModule(isolate, code, name)
      : { kind: 'faulty', faults: [fault] }
  }
}
