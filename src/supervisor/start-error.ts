/** The service cannot start. The message is a sentence with a remedy for the operator; no stack is shown. */
export class StartError extends Error {}
