import type { Application, ApplicationType } from '../../api/types.ts'
import { action, choiceField, formProblem } from '../../kit/form.ts'
import { html, live } from '../../kit/html.ts'
import { createIdempotencyKey } from '../../kit/idempotency.ts'
import { resource, show } from '../../kit/resource.ts'
import type { Screen } from '../../kit/screen.ts'
import { computed, signal } from '../../kit/signals.ts'
import { fromLocal } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { applicationForm } from './application-form.ts'
import { containerSuggestions } from './container-suggestions.ts'
import { bodyOf, type Draft, draftOf } from './draft.ts'
import { fieldPlaces, issuesAt, textField } from './fields.ts'
import { showKey } from './keys.ts'
import { type Template, templates } from './templates.ts'
import type { PermissionInfo } from './types.ts'

const TYPES: readonly (readonly [ApplicationType, string])[] = [
  ['private', 'private: a service of yours'],
  ['public', 'public: a browser or an app'],
  ['management', 'management: no tokens'],
]

const templateOf = (id: string | null): Template =>
  templates.find((template) => template.id === id) ?? (templates[0] as Template)

const draftFrom = (id: string | null): Draft => draftOf(templateOf(id), false)

export const createScreen: Screen = {
  path: '/applications/new',
  title: 'New application',
  needs: (may) => may('application:create'),
  open: ({ api, filters, setFilters, signal: within, navigate }) => {
    const draft = signal(draftFrom(filters.peek().get('template')))
    const type = computed(() => draft.value.type)
    const expires = signal('')
    const idempotency = createIdempotencyKey()

    const permissions = resource(
      (abort) =>
        api.call<readonly PermissionInfo[]>('GET', '/permissions', {
          query: { application_type: type.value },
          signal: abort,
        }),
      within,
    )
    const containers = containerSuggestions(api, undefined, within)

    const create = action(async () => {
      const now = draft.peek()
      const body = {
        type: now.type,
        ...bodyOf(now),
        ...(expires.peek() === '' ? {} : { expires_at: fromLocal(expires.peek()) ?? expires.peek() }),
      }
      const created = await api.call<Application>('POST', '/applications', {
        body,
        headers: idempotency.headers(body),
      })
      idempotency.reset()
      await showKey(created.name, created.key)
      if (!within.aborted)
        navigate(may('application:read') ? link`/applications/${created.id}` : '#/applications/new')
    })

    const change = (part: Partial<Draft>) => {
      create.reset()
      draft.value = { ...draft.peek(), ...part }
    }
    const choose = ({ id }: Template) => {
      create.reset()
      setFilters({ template: id })
      draft.value = draftFrom(id)
    }
    const setType = (type: ApplicationType) =>
      change({
        type,
        permissions: [],
        ...(type === 'management' ? { rules: [], destinations: [], responseGuard: '' } : {}),
      })

    return {
      view: () => {
        const error = create.error.value
        const chosen = templateOf(filters.value.get('template')).id
        return html`<form class="application" aria-label="New application" @focusin=${containers.onFocus} @submit=${create.run} novalidate>
          <fieldset class="templates">
            <legend>Template</legend>
            ${templates.map(
              (template) => html`<label class="template">
                <input
                  type="radio"
                  name="template"
                  .checked=${live(template.id === chosen)}
                  @change=${() => choose(template)}
                />
                <span><strong>${template.title}</strong><span class="soft small">${template.about}</span></span>
              </label>`,
            )}
          </fieldset>
          ${formProblem(error, fieldPlaces(error))}
          ${choiceField({
            label: 'Type',
            hint: 'It cannot be changed later.',
            choices: TYPES,
            value: draft.value.type,
            error: issuesAt(error, 'type'),
            set: setType,
          })}
          ${show(
            permissions,
            (known) => html`<div class="stack">
              ${applicationForm({
                draft: draft.value,
                permissions: known,
                error,
                change,
              })}
            </div>`,
          )}
          <h2>Expiry</h2>
          ${textField({
            label: 'Expires',
            hint: 'In your time zone. Its keys stop working then. It cannot be changed later; empty: never.',
            type: 'datetime-local',
            value: expires.value,
            error: issuesAt(error, 'expires_at'),
            set: (value) => {
              create.reset()
              expires.value = value
            },
          })}
          <div class="buttons">
            <a class="button" href="#/applications">Cancel</a>
            <button class="primary">Create</button>
          </div>
          ${containers.list()}
    </form>`
      },
    }
  },
}
