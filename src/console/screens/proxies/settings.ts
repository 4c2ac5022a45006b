import { applicationField } from '../../kit/entity-choice.ts'
import { settingsForm } from '../../kit/entity-screen.ts'
import { type Field, fieldChanges, NAME } from '../../kit/form.ts'
import { guardField } from '../../kit/guard-modes.ts'
import type { TemplateResult } from '../../kit/html.ts'
import type { ProxyPage, StoredProxy } from './types.ts'

/** Fields of a new proxy. */
export const FIELDS: readonly Field[] = [
  NAME,
  {
    name: 'destination_url',
    label: 'Destination URL',
    hint: 'Where its requests go. What a caller adds behind /proxy follows.',
    kind: 'url',
    required: true,
    placeholder: 'https://api.example.com/v1',
  },
]

const MORE: readonly Field[] = [
  {
    name: 'require_auth',
    label: 'Callers need an API key',
    hint: 'Without one, anybody with the proxy key can call it.',
    kind: 'checkbox',
  },
  {
    name: 'intercept',
    label: 'Intercept in the forward proxy',
    hint: 'Requests to this host and path are handled as calls of this proxy.',
    kind: 'checkbox',
  },
  {
    name: 'evaluate',
    label: 'Expressions are evaluated in',
    hint: 'Separated by commas: body, path, header:authorization, query:key. Empty: nowhere.',
    kind: 'list',
  },
  { ...guardField, name: 'response_guard' },
]

/** The form of a proxy's settings. */
export const settingsSection = (page: ProxyPage): (() => TemplateResult) => {
  const hint = 'Its code acts as this application, and so do anonymous callers.'
  const fields = [...FIELDS, ...MORE, applicationField(page.context, hint)]
  const values = ({ application_id: id, ...proxy }: StoredProxy) => ({
    ...proxy,
    application: id === undefined ? undefined : { id },
  })
  return settingsForm(page, {
    permission: 'proxy:update',
    changes: (data) => fieldChanges(fields, values(page.stored.peek()), data),
    done: 'Settings saved. They hold from the next request on.',
    view: () => ({ fields, values: values(page.stored.value) }),
  })
}
