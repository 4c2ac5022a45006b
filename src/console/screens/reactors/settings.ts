import { entityChoice } from '../../kit/entity-choice.ts'
import { action, field, formProblem, issue } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { mergePatch } from '../../kit/merge-patch.ts'
import { notice } from '../../kit/notice.ts'
import { signal } from '../../kit/signals.ts'
import { may } from '../../session.ts'
import type { ReactorPage } from './reactor.ts'
import { valueFields, valuesIn } from './values.ts'

/** Name, application, and the values that the reactor's formula declares. */
export const settingsSection = ({ context, reactor, patch }: ReactorPage): (() => TemplateResult) => {
  const { api, signal: within } = context
  const applications = entityChoice({
    api,
    path: '/applications',
    query: { type: ['private', 'public'] },
    allowed: may('application:read'),
    signal: within,
  })
  /** Values may be secrets: they enter the page when somebody asks for them. */
  const isShown = signal(false)
  let form: HTMLFormElement | undefined
  const save = action(async () => {
    const given = new FormData(form)
    const { name, application, configuration, formula } = reactor.peek()
    const next = {
      name: String(given.get('name') ?? ''),
      application: String(given.get('application') ?? '').trim(),
    }
    const values = isShown.peek()
      ? mergePatch(configuration, valuesIn(given, formula?.configuration ?? [], configuration))
      : undefined
    const changes = {
      ...(next.name === name ? {} : { name: next.name }),
      ...(next.application === (application?.id ?? '')
        ? {}
        : { application: next.application === '' ? null : { id: next.application } }),
      ...(values === undefined ? {} : { configuration: values }),
    }
    if (Object.keys(changes).length === 0) return notice('info', 'Nothing was changed.')
    await patch(changes)
    notice('done', 'Settings saved. They hold from the next call on.')
  })

  return () => {
    const { name, application, configuration, formula } = reactor.value
    const elements = formula?.configuration ?? []
    const error = save.error.value
    const isAllowed = may('reactor:update')
    return html`
      ${formProblem(error, ['name', 'application.id', ...elements.map((element) => `configuration.${element.name}`)])}
      <form
        @submit=${(event: Event) => {
          form = event.currentTarget as HTMLFormElement
          void save.run(event)
        }}
      >
        <fieldset class="bare" ?disabled=${!isAllowed}>
          ${field({
            label: 'Name',
            error: issue(error, 'name'),
            control: html`<input name="name" required maxlength="200" autocomplete="off" .value=${name} />`,
          })}
          ${field({
            label: 'Application',
            hint: 'Its code acts as this application.',
            error: issue(error, 'application.id'),
            control: applications.control({ name: 'application', chosen: application?.id, none: 'None' }),
          })}
          ${
            elements.length === 0
              ? nothing
              : html`<fieldset class="elements">
                  <legend>Values</legend>
                  ${
                    isShown.value
                      ? valueFields(elements, configuration, error)
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
          ${
            isAllowed
              ? html`<div class="buttons">
                  <button class="primary" ?disabled=${save.busy.value}>Save settings</button>
                </div>`
              : html`<p class="soft">Your key may not change reactors.</p>`
          }
        </fieldset>
      </form>
    `
  }
}
