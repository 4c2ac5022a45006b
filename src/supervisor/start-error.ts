/** The service cannot start. The message has a remedy for the operator and is shown without a stack. */
export class StartError extends Error {
  /** True if the configuration is wrong, so that a retry would fail too. */
  readonly configuration: boolean

  constructor(message: string, options: { readonly configuration?: boolean | undefined } = {}) {
    super(message)
    this.configuration = options.configuration ?? false
  }
}

/** A file, directory or socket of the service that the system does not let this process open. */
export const cannotOpen = (what: string, code: string): StartError =>
  new StartError(`${what} cannot be opened (${code}). Run the command as the user of the service.`)
