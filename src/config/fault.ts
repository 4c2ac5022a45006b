/** One thing wrong with one setting. Never holds a secret's value. */
export interface ConfigFault {
  /** The variable, e.g. `SIDEVAULT_LISTEN`. */
  readonly name: string
  readonly problem: string
  readonly remedy: string
}

/** Every fault of a configuration at once; the message lists them one a line. */
export class ConfigError extends Error {
  readonly faults: readonly ConfigFault[]

  constructor(faults: readonly ConfigFault[]) {
    const lines = faults.map(({ name, problem, remedy }) => `  ${name}: ${problem} ${remedy}`)
    super(`The configuration has ${faults.length === 1 ? 'a fault' : 'faults'}:\n${lines.join('\n')}`)
    this.name = 'ConfigError'
    this.faults = faults
  }
}
