/** What a new plugin brings. */
export const KINDS = ['token-type', 'consumer', 'job', 'check', 'webhook-type'] as const
