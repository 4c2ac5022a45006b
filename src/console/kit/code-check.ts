import { type Api, ApiError } from '../api/client.ts'
import type { Diagnostic } from './code-text.ts'
import { confirm } from './dialog.ts'
import { html } from './html.ts'
import { effect, signal } from './signals.ts'

/** A warning about code that was saved (completions §7). */
interface CodeWarning extends Diagnostic {
  /** Path of the member with the code: `request_transform.code`. */
  readonly path: string
}

const POSITIONED = /^line (\d+), column (\d+): (.*)$/s

/** The problems that sentences of the API place: those of `strict_code`, by the path of their member. */
const codeWarnings = (issues: Readonly<Record<string, readonly string[]>>): readonly CodeWarning[] =>
  Object.entries(issues).flatMap(([path, sentences]) =>
    sentences.flatMap((sentence) => {
      const match = POSITIONED.exec(sentence)
      return match === null
        ? []
        : [{ path, line: Number(match[1]), column: Number(match[2]), message: match[3]! }]
    }),
  )

/** ms without another letter before code is checked. */
const QUIET_MS = 800

/** Characters of a check. The save reports code that is longer than the API's limit. */
const MAX_CHECKED = 250_000

interface CodeCheck {
  /** Problems of one member, such as `request_transform.code`. */
  problems(path: string): readonly CodeWarning[]
  /** Checks at once, asks when code does not parse, and saves it. Shows the problems in its error (`strict_code`). */
  save(work: () => Promise<void>): Promise<void>
}

/** Checks code by the API: at once, after pauses of typing, before a save. `body` reads signals; undefined: none. */
export const codeCheck = ({
  api,
  path,
  body,
  signal: within,
}: {
  readonly api: Api
  readonly path: '/proxies/check-code' | '/reactors/check-code'
  readonly body: () => object | undefined
  readonly signal: AbortSignal
}): CodeCheck => {
  const warnings = signal<readonly CodeWarning[]>([])
  let timer: ReturnType<typeof setTimeout> | undefined
  let current = new AbortController()

  /** Checks a body. A failed check counts as one without problems: the save reports the error. */
  const check = async (code: object | undefined): Promise<void> => {
    clearTimeout(timer)
    current.abort()
    const own = new AbortController()
    current = own
    const next =
      code === undefined || JSON.stringify(code).length > MAX_CHECKED
        ? []
        : await api
            .call<{ readonly warnings: readonly CodeWarning[] }>('POST', path, {
              body: code,
              signal: AbortSignal.any([own.signal, within]),
            })
            .then(
              ({ warnings }) => warnings,
              () => [],
            )
    if (own === current) warnings.value = next
  }

  let isFirst = true
  const dispose = effect(() => {
    const code = body()
    clearTimeout(timer)
    timer = setTimeout(() => void check(code), isFirst ? 0 : QUIET_MS)
    isFirst = false
  })
  within.addEventListener('abort', () => {
    dispose()
    clearTimeout(timer)
    current.abort()
  })

  const confirmed = async (): Promise<boolean> => {
    await check(body())
    const problems = warnings.peek()
    if (problems.length === 0) return true
    return confirm({
      title: 'Save code that cannot run?',
      body: html`<p>Calls that need this code fail until it is corrected.</p>
        <ul>
          ${problems.map(
            ({ path, line, column, message }) =>
              html`<li><code>${path}</code>, line ${line}, column ${column}: ${message}</li>`,
          )}
        </ul>`,
      action: 'Save anyway',
      danger: true,
    })
  }

  return {
    problems: (at) => warnings.value.filter(({ path }) => path === at),
    save: async (work) => {
      if (!(await confirmed())) return
      try {
        await work()
      } catch (thrown) {
        const placed = thrown instanceof ApiError ? codeWarnings(thrown.issues) : []
        if (placed.length > 0) warnings.value = placed
        throw thrown
      }
    },
  }
}
