import type { ApplicationType, Rule } from '../../api/types.ts'

/** Plain data that fills the form of a new application. */
export interface Template {
  readonly id: string
  readonly title: string
  readonly about: string
  readonly name: string
  readonly type: ApplicationType
  readonly permissions: readonly string[]
  readonly rules: readonly Rule[]
}

const everywhere = (description: string, transform: Rule['transform']): Rule => ({
  description,
  priority: 1,
  container: '/',
  transform,
  permissions: ['token:read', 'token:search'],
})

export const templates: readonly Template[] = [
  {
    id: 'service',
    title: 'Service',
    about: 'Creates tokens and sends their values through the proxy. It reads no value itself.',
    name: 'Service',
    type: 'private',
    permissions: ['token:create', 'token:use'],
    rules: [],
  },
  {
    id: 'browser',
    title: 'Browser',
    about: 'Creates tokens from a page or an app. Its key is public, so it can do nothing else.',
    name: 'Web page',
    type: 'public',
    permissions: ['token:create'],
    rules: [],
  },
  {
    id: 'back-office',
    title: 'Back office',
    about: 'Finds and reads tokens, with masked values.',
    name: 'Back office',
    type: 'private',
    permissions: [],
    rules: [everywhere('Back office sees masked values', 'mask')],
  },
  {
    id: 'reporting',
    title: 'Reporting',
    about: 'Finds and counts tokens, with metadata but without values.',
    name: 'Reporting',
    type: 'private',
    permissions: [],
    rules: [everywhere('Reporting sees no values', 'redact')],
  },
  {
    id: 'administrator',
    title: 'Administrator',
    about: 'Manages applications, proxies, reactors and sessions, and reads the audit log. It sees no value.',
    name: 'Administrator',
    type: 'management',
    permissions: [
      'application:create',
      'application:read',
      'application:update',
      'application:delete',
      'proxy:create',
      'proxy:read',
      'proxy:update',
      'proxy:delete',
      'reactor:create',
      'reactor:read',
      'reactor:update',
      'reactor:delete',
      'session:read',
      'session:delete',
      'log:read',
      'report:read',
      'tenant:read',
    ],
    rules: [],
  },
  {
    id: 'empty',
    title: 'Something else',
    about: 'Starts with an empty form.',
    name: '',
    type: 'private',
    permissions: [],
    rules: [],
  },
]
