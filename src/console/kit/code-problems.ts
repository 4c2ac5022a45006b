import type { Problem } from './code-text.ts'

/** A warning about code that was saved (completions §7). */
export interface CodeWarning extends Problem {
  /** Of the member: `request_transform.code`. */
  readonly path: string
}

const PLACED = /^line (\d+), column (\d+): (.*)$/s
/** `The request_transform cannot run: Unexpected token '}' (line 2, column 42)`, of the gateway and of reactors. */
const INVOKED = /^The (\w+) cannot run: (.*) \(line (\d+), column (\d+)\)$/s

/** The problems that sentences of the API place: those of `strict_code`, by the path of their member. */
export const placedIssues = (issues: Readonly<Record<string, readonly string[]>>): readonly CodeWarning[] =>
  Object.entries(issues).flatMap(([path, sentences]) =>
    sentences.flatMap((sentence) => {
      const found = PLACED.exec(sentence)
      return found === null
        ? []
        : [{ path, line: Number(found[1]), column: Number(found[2]), message: found[3]! }]
    }),
  )

/** The problem of an invocation of code that does not parse. */
export const placedDetail = (detail: string): CodeWarning | undefined => {
  const found = INVOKED.exec(detail)
  if (found === null) return undefined
  const path = found[1] === 'reactor' ? 'code' : `${found[1]}.code`
  return { path, line: Number(found[3]), column: Number(found[4]), message: found[2]! }
}
