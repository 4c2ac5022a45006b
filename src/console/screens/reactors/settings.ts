import { applicationChoice } from '../../kit/entity-choice.ts'
import type { EntityPage } from '../../kit/entity-screen.ts'
import { field } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { JsonObject } from '../../kit/json.ts'
import { mergePatch } from '../../kit/json-object.ts'
import { settingsForm } from '../../kit/settings-form.ts'
import { signal } from '../../kit/signals.ts'
import type { Reactor } from './types.ts'
import { valueFields, valuesIn } from './values.ts'

/** Name, application, and the values that the reactor's formula declares. */
export const settingsSection = (page: EntityPage<Reactor>): (() => TemplateResult) => {
  const applications = applicationChoice(page.context)
  /** Values may be secrets: they enter the page when somebody asks for them. */
  const isShown = signal(false)
  return settingsForm(page, {
    permission: 'reactor:update',
    done: 'Settings saved. They hold from the next call on.',
    changes: (form) => {
      const { name, application, configuration, formula } = page.stored.peek()
      const acting = String(form.get('application') ?? '').trim()
      const members = (name: string, id: string | undefined, configuration: JsonObject) => ({
        name,
        configuration,
        ...(id ? { application: { id } } : {}),
      })
      const values = isShown.peek()
        ? valuesIn(form, formula?.configuration ?? [], configuration)
        : configuration
      return mergePatch(
        members(name, application?.id, configuration),
        members(String(form.get('name') ?? ''), acting, values),
      )
    },
    fields: (wrong) => {
      const { name, application, configuration, formula } = page.stored.value
      const elements = formula?.configuration ?? []
      return html`
        ${field({
          label: 'Name',
          error: wrong('name'),
          control: html`<input name="name" required maxlength="200" autocomplete="off" .value=${name} />`,
        })}
        ${field({
          label: 'Application',
          hint: 'Its code acts as this application.',
          error: wrong('application.id'),
          control: applications.control({ name: 'application', chosen: application?.id, none: 'None' }),
        })}
        ${
          elements.length === 0
            ? nothing
            : html`<fieldset class="elements">
                <legend>Values</legend>
                ${
                  isShown.value
                    ? valueFields(elements, configuration, wrong)
                    : html`<p>Values of ${elements.map((element, at) => html`${at === 0 ? '' : ', '}<code>${element.name}</code>`)}, hidden.</p>
                        <button
                          type="button"
                          @click=${() => {
                            isShown.value = true
                          }}
                        >
                          Show and edit values
                        </button>`
                }
              </fieldset>`
        }
      `
    },
  })
}
