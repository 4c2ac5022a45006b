/** One thing wrong with one setting. Never holds a secret's value. */
export interface ConfigIssue {
  /** The variable, e.g. `SIDEVAULT_LISTEN`. */
  readonly name: string
  readonly message: string
  readonly fix: string
}

/** Every issue of a configuration at once, and the warnings, of which one may tell why; the message lists them one a line. */
export class ConfigError extends Error {
  readonly issues: readonly ConfigIssue[]

  constructor(issues: readonly ConfigIssue[], warnings: readonly string[] = []) {
    const lines = [
      ...issues.map(({ name, message: problem, fix: remedy }) => `  ${name}: ${problem} ${remedy}`),
      ...warnings.map((warning) => `  warning: ${warning}`),
    ]
    super(`The configuration has ${issues.length === 1 ? 'an issue' : 'issues'}:\n${lines.join('\n')}`)
    this.name = 'ConfigError'
    this.issues = issues
  }
}
