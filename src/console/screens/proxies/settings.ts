import { checkbox } from '../../kit/checkbox.ts'
import { applicationChoice } from '../../kit/entity-choice.ts'
import { choiceField, field } from '../../kit/form.ts'
import { guardField } from '../../kit/guard-modes.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { settingsForm } from '../../kit/settings-form.ts'
import { settingsPatch } from './patches.ts'
import type { ProxyPage } from './types.ts'

/** The form of a proxy's settings. */
export const settingsSection = (page: ProxyPage): (() => TemplateResult) => {
  const applications = applicationChoice(page.context)
  return settingsForm(page, {
    permission: 'proxy:update',
    changes: (form) => settingsPatch(page.stored.peek(), form),
    done: 'Settings saved. They hold from the next request on.',
    fields: (wrong) => {
      const { name, destination_url, application_id, evaluate, require_auth, intercept, response_guard } =
        page.stored.value
      return html`
        ${field({
          label: 'Name',
          error: wrong('name'),
          control: html`<input name="name" required maxlength="200" autocomplete="off" .value=${name} />`,
        })}
        ${field({
          label: 'Destination URL',
          error: wrong('destination_url'),
          control: html`<input name="destination_url" required autocomplete="off" .value=${destination_url} />`,
        })}
        ${checkbox({
          name: 'require_auth',
          label: 'Callers need an API key',
          hint: 'Without one, anybody with the proxy key can call it.',
          checked: require_auth,
        })}
        ${checkbox({
          name: 'intercept',
          label: 'Intercept in the forward proxy',
          hint: 'Requests to this host and path are handled as calls of this proxy.',
          checked: intercept,
          error: wrong('intercept'),
        })}
        ${field({
          label: 'Expressions are evaluated in',
          hint: 'Separated by commas: body, path, header:authorization, query:key. Empty: nowhere.',
          error: wrong('evaluate'),
          control: html`<input name="evaluate" autocomplete="off" spellcheck="false" .value=${evaluate.join(', ')} />`,
        })}
        ${field({
          label: 'Application',
          hint: 'Its code acts as this application, and so do anonymous callers.',
          error: wrong('application.id'),
          control: applications.control({ name: 'application', chosen: application_id, none: 'None' }),
        })}
        ${choiceField({ ...guardField, name: 'response_guard', error: wrong('response_guard'), value: response_guard ?? '' })}
      `
    },
  })
}
