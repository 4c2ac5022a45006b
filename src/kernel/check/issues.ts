import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

/** An issue of the plugins: location, message and fix. */
export interface Issue {
  /** e.g. `plugin "loyalty" › token type "loyalty_card" › mask`. */
  readonly location: string
  readonly message: string
  readonly fix: string
}

/** Collects issues of one location and those below it. */
export interface Issues {
  add(problem: string, fix: string): void
  /** A collector for a location below this one; it adds to the same list. */
  at(step: string): Issues
}

export const issuesAt = (place: string, into: Issue[]): Issues => ({
  add: (problem, fix) => {
    into.push({ location: place, message: problem, fix })
  },
  at: (step) => issuesAt(`${place} › ${step}`, into),
})

/** The first line of an error's message, truncated. */
export const firstLine = (thrown: unknown): string =>
  (thrown instanceof Error ? thrown.message : String(thrown)).split('\n')[0]!.slice(0, 300)

const OURS = fileURLToPath(new URL('../..', import.meta.url))

/** The message of an error in a plugin's module or setup, with the line of the plugin's own file. */
export const thrownAt = (thrown: unknown): string => {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
  const places = stack.matchAll(/(?:^|file:\/\/)(\/[^\n:()]+):(\d+)(?::\d+)?\)?$/gm)
  for (const [, file = '', line] of places)
    if (!file.startsWith(OURS) && !file.includes('/node_modules/'))
      return `${firstLine(thrown)} (${basename(file)}:${line})`
  return firstLine(thrown)
}

/** Each issue on a line: location, message, fix. */
export const issueLines = (issues: readonly Issue[]): readonly string[] =>
  issues.map(({ location: place, message: problem, fix: remedy }) => `  ${place}: ${problem} ${remedy}`)

/** Thrown by `startKernel` with all issues of all plugins; nothing has started. */
export class PluginIssues extends Error {
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    super(
      [
        `${issues.length === 1 ? 'One issue' : `${issues.length} issues`} in the plugins; nothing was started:`,
        ...issueLines(issues),
      ].join('\n'),
    )
    this.name = 'PluginIssues'
    this.issues = issues
  }
}
