/** The service cannot start. The message is a sentence with a remedy for the operator; no stack is shown. */
export class StartError extends Error {
  /** True when what the operator asked for is wrong, and another try would end the same way. */
  readonly configuration: boolean

  constructor(message: string, options: { readonly configuration?: boolean | undefined } = {}) {
    super(message)
    this.configuration = options.configuration ?? false
  }
}
