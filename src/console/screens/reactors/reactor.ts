import { button } from '../../kit/button.ts'
import { codeForm } from '../../kit/code-form.ts'
import { configurationForm, hiddenValues } from '../../kit/configuration-form.ts'
import { applicationField } from '../../kit/entity-choice.ts'
import { type EntityPage, entityScreen, settingsForm } from '../../kit/entity-screen.ts'
import { fieldChanges, NAME } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { mergePatch } from '../../kit/json-object.ts'
import { secretValue } from '../../kit/secret-value.ts'
import { signal } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { runSection } from './run.ts'
import type { Reactor } from './types.ts'
import { valueFields, valuePlaces, valuesIn } from './values.ts'

/** The code of a reactor: its own, or a link to its formula. */
export const codeOf = ({ formula }: Reactor): TemplateResult =>
  formula === undefined
    ? html`<span class="soft">its own</span>`
    : html`<a href=${link`/formulas/${formula.id}`}>${formula.name}</a>`

/** Name, application, and the values that the reactor's formula declares. */
const settingsSection = (page: EntityPage<Reactor>): (() => TemplateResult) => {
  const fields = [NAME, applicationField(page.context, 'Its code acts as this application.')]
  const elements = page.stored.peek().formula?.configuration ?? []
  /** Values may be secrets: they enter the page when somebody asks for them. */
  const isShown = signal(false)
  const hidden = () =>
    html`${hiddenValues(elements.map(({ name }) => name))} ${button('Show and edit values', () => {
      isShown.value = true
    })}`
  return settingsForm(page, {
    permission: 'reactor:update',
    done: 'Settings saved. They hold from the next call on.',
    changes: (data) => {
      const { configuration, ...stored } = page.stored.peek()
      const values = isShown.peek() ? valuesIn(data, elements, configuration) : configuration
      const changes = [
        fieldChanges(fields, stored, data),
        mergePatch({ configuration }, { configuration: values }),
      ]
      return changes.some((part) => part !== undefined) ? Object.assign({}, ...changes) : undefined
    },
    view: () => ({
      fields,
      values: { ...page.stored.value },
      places: isShown.value ? valuePlaces(elements) : [],
      more: (error) =>
        elements.length === 0
          ? nothing
          : html`<fieldset class="elements">
              <legend>Values</legend>
              ${isShown.value ? valueFields(elements, page.stored.value.configuration, error) : hidden()}
            </fieldset>`,
    }),
  })
}

export const reactorScreen = entityScreen<Reactor>({
  what: 'Reactor',
  api: '/reactors',
  screen: '/reactors',
  permission: 'reactor',
  deletionText: 'Calls of it fail from now on.',
  open: (page) => {
    const key = secretValue('callback key')
    const { formula } = page.stored.peek()
    const code = () =>
      codeForm(page, {
        members: [{ place: 'code', label: 'Code', codeOf: (reactor) => reactor.code ?? '' }],
        check: '/reactors/check-code',
        permission: 'reactor:update',
        patchOf: (codes) => Object.fromEntries(codes),
      })
    const configuration = () =>
      configurationForm({
        stored: () => page.stored.value.configuration,
        save: (changes) => page.patch({ configuration: changes }),
        isReadonly: !may('reactor:update'),
      })
    return {
      facts: () => {
        const { application, callback_key } = page.stored.value
        return [
          ['Code', codeOf(page.stored.value)],
          [
            'Acts as',
            application === undefined
              ? html`<span class="soft">its caller</span>`
              : html`<a href=${link`/applications/${application.id}`}>${application.name}</a>`,
          ],
          ['Callback key', key(callback_key)],
        ]
      },
      call: snippet('POST', `${page.path}/react`, { body: { args: {} } }),
      sections: {
        Code: formula === undefined ? code() : undefined,
        Run: may('token:use') ? runSection(page) : undefined,
        Settings: settingsSection(page),
        // A formula that declares values has a field for each, among the settings.
        Configuration: formula?.configuration.length ? undefined : configuration(),
      },
    }
  },
})
