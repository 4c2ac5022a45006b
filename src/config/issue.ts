/** Issue of one setting. Never contains a secret's value. */
export interface ConfigIssue {
  /** The variable, e.g. `SIDEVAULT_LISTEN`. */
  readonly name: string
  readonly message: string
  readonly fix: string
}

/** All issues of a configuration, one a line. */
export class ConfigError extends Error {
  readonly issues: readonly ConfigIssue[]

  constructor(issues: readonly ConfigIssue[]) {
    const lines = issues.map(({ name, message: problem, fix: remedy }) => `  ${name}: ${problem} ${remedy}`)
    super(`The configuration has ${issues.length === 1 ? 'an issue' : 'issues'}:\n${lines.join('\n')}`)
    this.name = 'ConfigError'
    this.issues = issues
  }
}
