import { GUARD_MODES, guardField } from '../../kit/guard-modes.ts'

export interface TenantSettings {
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
}

const TEXTS: Readonly<Record<string, string>> = { true: 'on', false: 'off' }

/** A value of a setting for people. */
export const textOf = (value: string): string => TEXTS[value] ?? value

const setting = (
  name: string,
  label: string,
  hint: string,
  values: readonly string[] = ['false', 'true'],
) => ({
  name,
  label,
  hint,
  choices: values.map((value) => [value, textOf(value)] as const),
})

/** Settings of a tenant: what they do, and their values. */
export const SETTINGS = [
  setting(
    'fingerprint_tokens',
    'Fingerprint all tokens',
    "Each new token gets a fingerprint by its type's default expression.",
  ),
  setting(
    'deduplicate_tokens',
    'Deduplicate tokens',
    'Creating a token with existing data returns the existing token.',
  ),
  setting(
    'strict_code',
    'Strict code',
    'Code that does not parse is rejected when it is saved, instead of a warning.',
  ),
  setting('grants_within_own', 'Grant within own', 'A key grants only what it holds itself.', [
    'true',
    'false',
  ]),
  setting(
    'unbound_destinations',
    'Unbound destinations',
    'Tunnels of the forward proxy to hosts that nothing binds: denied, or passed on unopened.',
    ['deny', 'tunnel'],
  ),
  setting('response_guard', guardField.label, guardField.hint, GUARD_MODES),
]

/** The body of an update that makes the changes of `draft` to `opened` in what is stored `now`. */
export const updateOf = (opened: TenantSettings, draft: TenantSettings, now: TenantSettings): object => {
  const changed = Object.entries(draft.settings).filter(([name, value]) => opened.settings[name] !== value)
  return {
    name: draft.name === opened.name ? now.name : draft.name,
    ...(changed.length === 0 ? {} : { settings: { ...now.settings, ...Object.fromEntries(changed) } }),
  }
}
