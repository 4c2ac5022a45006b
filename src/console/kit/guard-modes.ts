/** Modes of the response guard (completions §17); `''`: none is set. */
export type GuardMode = 'off' | 'report' | 'replace' | 'block'
export type GuardChoice = GuardMode | ''

export const GUARD_MODES: readonly GuardMode[] = ['off', 'report', 'replace', 'block']

const CHOICES: readonly (readonly [GuardChoice, string])[] = [
  ['', 'not set'],
  ...GUARD_MODES.map((mode) => [mode, mode] as const),
]

/** Label, hint and choices of the setting, for `choiceField`. */
export const guardField = {
  label: 'Response guard',
  hint: 'Values of a request that its response repeats: reported, replaced by their tokens, or the response is blocked. The strictest of tenant, application, proxy and call holds.',
  choices: CHOICES,
}
