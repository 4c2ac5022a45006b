/** What a new plugin brings. */
export const KINDS = ['token-type', 'consumer', 'job'] as const
