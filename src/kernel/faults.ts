import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

/** One thing that is wrong with the plugins of this start: where, what, and what to do about it. */
export interface Fault {
  /** e.g. `plugin "loyalty" › token type "loyalty_card" › mask`. */
  readonly place: string
  readonly problem: string
  readonly remedy: string
}

/** Collects faults of one place and those below it. */
export interface Faults {
  add(problem: string, remedy: string): void
  /** The same collection, one step further down. */
  at(step: string): Faults
}

export const faultsAt = (place: string, into: Fault[]): Faults => ({
  add: (problem, remedy) => {
    into.push({ place, problem, remedy })
  },
  at: (step) => faultsAt(`${place} › ${step}`, into),
})

/** The first line of what was thrown, bounded: enough to find the place, no stack. */
export const firstLine = (thrown: unknown): string =>
  (thrown instanceof Error ? thrown.message : String(thrown)).split('\n')[0]!.slice(0, 300)

const OURS = fileURLToPath(new URL('..', import.meta.url))

/** Of what a plugin's module or setup threw: the message, and the line of the plugin's own file that it came from. */
export const thrownAt = (thrown: unknown): string => {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
  const places = stack.matchAll(/(?:^|file:\/\/)(\/[^\n:()]+):(\d+)(?::\d+)?\)?$/gm)
  for (const [, file = '', line] of places)
    if (!file.startsWith(OURS) && !file.includes('/node_modules/'))
      return `${firstLine(thrown)} (${basename(file)}:${line})`
  return firstLine(thrown)
}

/** Each fault as a line of its own, place first and remedy last. */
export const faultLines = (faults: readonly Fault[]): readonly string[] =>
  faults.map(({ place, problem, remedy }) => `  ${place}: ${problem} ${remedy}`)

/** Thrown by `startKernel` when anything is wrong with any plugin: all faults at once, and nothing has started. */
export class PluginFaults extends Error {
  readonly faults: readonly Fault[]

  constructor(faults: readonly Fault[]) {
    super(
      [
        `${faults.length === 1 ? 'One fault' : `${faults.length} faults`} in the plugins; nothing was started:`,
        ...faultLines(faults),
      ].join('\n'),
    )
    this.name = 'PluginFaults'
    this.faults = faults
  }
}
