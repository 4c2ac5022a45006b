/** Variables of the environment whose names begin like those of settings. */
import type { ConfigIssue } from './issue.ts'
import { type SettingName, settingNames, settingOf, variableOf } from './schema.ts'

/** The variable that names a file with the value of a secret setting. */
export const fileVariableOf = (name: string): string => `${variableOf(name)}_FILE`

/** Secret settings. Each has a `…_FILE` variable. */
export const secretNames: readonly SettingName[] = settingNames.filter((name) => settingOf(name).secret)

/** Variables that are read, by settings and by commands. */
const VARIABLES: readonly string[] = [
  ...settingNames.map(variableOf),
  ...[...secretNames, 'export_passphrase'].map(fileVariableOf),
  'SIDEVAULT_CONFIG',
  'SIDEVAULT_EXPORT_PASSPHRASE',
]

/** Variables of clients, and of docker-compose.yml, in our guides and examples. */
const CLIENTS = [
  'SIDEVAULT_KEY',
  'SIDEVAULT_API_KEY',
  'SIDEVAULT_URL',
  'SIDEVAULT_API_URL',
  'SIDEVAULT_DATABASE_PASSWORD',
]

const KNOWN: ReadonlySet<string> = new Set([...VARIABLES, ...CLIENTS])

/**
 * Kubernetes sets these for the ports of each service of the namespace, here one called `sidevault` or `sidevault-…`.
 */
const SERVICE =
  /^SIDEVAULT_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/

const isOfKubernetes = (name: string, value: string): boolean =>
  // Its value tells it from a setting that somebody guessed, such as SIDEVAULT_PORT=8080.
  SERVICE.test(name) || (/_PORT$/.test(name) && /^(?:tcp|udp|sctp):\/\//.test(value))

/** Levenshtein's distance: insertions, deletions and replacements of characters. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [line, character] of [...a].entries()) {
    const next = [line + 1]
    for (const [index, other] of [...b].entries())
      next.push(Math.min(next[index]! + 1, row[index + 1]! + 1, row[index]! + (character === other ? 0 : 1)))
    row = next
  }
  return row.at(-1)!
}

/** What to do about a name that is no setting: suggests the nearest one, if at most a third of it differs. */
export const fixOfUnknown = (name: string, candidates: readonly string[]): string => {
  const max = name.replace(/^SIDEVAULT_/, '').length / 3
  const near = candidates
    .map((candidate) => ({ candidate, edits: distance(name, candidate) }))
    .filter(({ edits }) => edits <= max)
    .sort((a, b) => a.edits - b.edits)[0]
  return near ? `Did you mean ${near.candidate}?` : 'Remove it. "sidevault start --help" lists the settings.'
}

/**
 * Issues of variables that are neither settings, nor set by Kubernetes or for clients, nor named as the source of
 * another value (`sources`: texts such as `env:<NAME>` and `<NAME>`). An empty variable counts as unset.
 */
export const unknownVariables = (
  env: NodeJS.ProcessEnv,
  sources: readonly (string | undefined)[],
): readonly ConfigIssue[] => {
  const named = new Set(sources.map((source) => source?.replace(/^(?:passphrase:)?env:/, '')))
  return Object.entries(env)
    .filter(
      ([name, value]) =>
        value &&
        /^SIDEVAULT_(?!TEST_)/.test(name) &&
        !KNOWN.has(name) &&
        !named.has(name) &&
        !isOfKubernetes(name, value),
    )
    .map(([name]) => ({ name, message: 'it is not a setting.', fix: fixOfUnknown(name, VARIABLES) }))
}
