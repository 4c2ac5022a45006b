/** One thing wrong with one setting. Never holds a secret's value. */
export interface ConfigFault {
  /** The variable, e.g. `SIDEVAULT_LISTEN`. */
  readonly name: string
  readonly problem: string
  readonly remedy: string
}

/** Every fault of a configuration at once, and the warnings, of which one may tell why; the message lists them one a line. */
export class ConfigError extends Error {
  readonly faults: readonly ConfigFault[]

  constructor(faults: readonly ConfigFault[], warnings: readonly string[] = []) {
    const lines = [
      ...faults.map(({ name, problem, remedy }) => `  ${name}: ${problem} ${remedy}`),
      ...warnings.map((warning) => `  warning: ${warning}`),
    ]
    super(`The configuration has ${faults.length === 1 ? 'a fault' : 'faults'}:\n${lines.join('\n')}`)
    this.name = 'ConfigError'
    this.faults = faults
  }
}
