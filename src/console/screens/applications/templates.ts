import type { Application, Rule } from '../../api/types.ts'

/** Plain data that fills the form of a new application. */
export interface Template extends Pick<Application, 'name' | 'type' | 'permissions' | 'rules'> {
  readonly id: string
  readonly title: string
  readonly about: string
}

const template = (id: string, title: string, about: string, part: Partial<Template>): Template => ({
  id,
  title,
  about,
  name: title,
  type: 'private',
  permissions: [],
  rules: [],
  ...part,
})

const everywhere = (description: string, transform: Rule['transform']): readonly Rule[] => [
  { description, priority: 1, container: '/', transform, permissions: ['token:read', 'token:search'] },
]

export const templates: readonly Template[] = [
  template(
    'service',
    'Service',
    'Creates tokens and sends their values through the proxy. It reads no value itself.',
    { permissions: ['token:create', 'token:use'] },
  ),
  template(
    'browser',
    'Browser',
    'Creates tokens from a page or an app. Its key is public, so it can do nothing else.',
    { name: 'Web page', type: 'public', permissions: ['token:create'] },
  ),
  template('back-office', 'Back office', 'Finds and reads tokens, with masked values.', {
    rules: everywhere('Back office sees masked values', 'mask'),
  }),
  template('reporting', 'Reporting', 'Finds and counts tokens, with metadata but without values.', {
    rules: everywhere('Reporting sees no values', 'redact'),
  }),
  template(
    'administrator',
    'Administrator',
    'Manages applications, proxies, reactors and sessions, and reads the audit log. It sees no value.',
    {
      type: 'management',
      permissions: [
        ...['application', 'proxy', 'reactor'].flatMap((resource) =>
          ['create', 'read', 'update', 'delete'].map((verb) => `${resource}:${verb}`),
        ),
        ...['session:read', 'session:delete', 'log:read', 'report:read', 'tenant:read'],
      ],
    },
  ),
  template('empty', 'Something else', 'Starts with an empty form.', { name: '' }),
]
