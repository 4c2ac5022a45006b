/** The printed report of a run. */
import type { AppError } from '../../common/errors.ts'
import type { Changes } from '../../gateway/dry-run/changes.ts'
import type { Outcome } from '../../sandbox/types.ts'

const ms = (value: number) => `${value.toFixed(1)} ms`

export const timingText = ({ timing: { waited, cpu, wall } }: Outcome): string =>
  `time      ${ms(wall)}, of which ${ms(cpu)} on the CPU; ${ms(waited)} waiting for its turn\n`

/** The lines that the code wrote to the console. */
export const consoleText = ({ console }: Outcome): string =>
  console
    .map(
      ({ level, text }) =>
        `${`console.${level}`.padEnd(14)}${text.replaceAll('\n', `\n${' '.repeat(14)}`)}\n`,
    )
    .join('')

/** The headers that the code changed. */
export const changesText = (changes: Changes): string => {
  const reported = Object.entries(changes)
    .filter(([, names]) => names.length > 0)
    .map(([kind, names]) => `${kind} ${names.join(', ')}`)
  return reported.length === 0 ? '' : `headers   ${reported.join('; ')}\n`
}

/** The error, with positions in the author's file: `sign.js:3:7`. */
export const failureText = (file: string, error: AppError, outcome: Outcome | undefined): string => {
  switch (outcome?.kind) {
    case 'threw': {
      const { name, message, frames, status, body } = outcome
      const responded =
        status === undefined
          ? ''
          : `\n    responds with ${status}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`
      return `${file}: ${name}: ${message}${frames.map((frame) => `\n    at ${frame}`).join('')}${responded}\n`
    }
    case 'unusable':
      return outcome.issues.length === 0
        ? `${file}: ${outcome.message}\n`
        : outcome.issues
            .map(({ line, column, message }) => `${file}:${line}:${column}: ${message}\n`)
            .join('')
    case 'limit':
      return `${file}: stopped: ${outcome.message}\n`
    default:
      return `${file}: ${error.message}\n`
  }
}
