import type { PermissionInfo } from '#sdk'

/** Permissions on tokens, each per container (completions §4). */
export const permissions: readonly PermissionInfo[] = [
  { type: 'token:create', description: 'Create tokens', application_types: ['public', 'private'] },
  { type: 'token:update', description: 'Update tokens', application_types: ['public', 'private'] },
  { type: 'token:read', description: 'Read and detokenize tokens', application_types: ['private'] },
  { type: 'token:delete', description: 'Delete tokens', application_types: ['private'] },
  {
    type: 'token:use',
    description: 'Use tokens in proxies and reactors',
    application_types: ['private'],
  },
  { type: 'token:search', description: 'Search tokens', application_types: ['private'] },
]
