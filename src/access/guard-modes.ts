/** Modes of the response guard (completions §17). */
import type { GuardMode } from '../sdk/index.ts'

/** The weakest first. */
export const GUARD_MODES = ['off', 'report', 'replace', 'block'] as const satisfies readonly GuardMode[]

export const isGuardMode = (text: string): text is GuardMode =>
  (GUARD_MODES as readonly string[]).includes(text)

/** Whether the second mode lets more pass than the first; undefined: none is set. */
export const isLooser = (before: GuardMode | undefined, after: GuardMode | undefined): boolean =>
  GUARD_MODES.indexOf(after ?? 'off') < GUARD_MODES.indexOf(before ?? 'off')
