import type { LimitName, Outcome } from '../../../src/sandbox/types.ts'

export type End = Exclude<Outcome['kind'], 'limit'> | LimitName

/** A hostile program, and its permitted outcomes. */
export interface Hostile {
  readonly name: string
  readonly code: string
  readonly ends: readonly End[]
  /** JSON text of its result, when it returns. */
  readonly json?: string
}

/** Runs `body` as an async function of `req`. */
export const program = (body: string): string => `module.exports = async function (req) {\n${body}\n}`

/** A program that returns 'safe', or else what it has reached. */
export const harmless = (name: string, body: string): Hostile => ({
  name,
  code: program(`${body}\nreturn 'safe'`),
  ends: ['returned'],
  json: '"safe"',
})

export const endOf = (outcome: Outcome): End => (outcome.kind === 'limit' ? outcome.limit : outcome.kind)
