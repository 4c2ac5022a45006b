import type { Application, ApplicationType } from '../../api/types.ts'
import { action, formProblem } from '../../kit/form.ts'
import { html, live } from '../../kit/html.ts'
import { createIdempotencyKey } from '../../kit/idempotency.ts'
import { resource, show } from '../../kit/resource.ts'
import type { Screen } from '../../kit/screen.ts'
import { section } from '../../kit/section.ts'
import { computed, signal } from '../../kit/signals.ts'
import { fromLocal } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { bodyOf, type Draft, draftOf } from './draft.ts'
import { type Field, fieldPlaces, fieldsOf } from './fields.ts'
import { applicationForm, containerSuggestions } from './form.ts'
import { showKey } from './keys.ts'
import { type Template, templates } from './templates.ts'
import type { PermissionInfo } from './types.ts'

interface NewDraft extends Draft {
  /** Value of its input; `''`: never. */
  readonly expires_at: string
}

const TYPE: Field<NewDraft> = {
  member: 'type',
  label: 'Type',
  hint: 'It cannot be changed later.',
  choices: [
    ['private', 'private: a service of yours'],
    ['public', 'public: a browser or an app'],
    ['management', 'management: no tokens'],
  ],
}

const EXPIRES: Field<NewDraft> = {
  member: 'expires_at',
  label: 'Expires',
  hint: 'In your time zone. Its keys stop working then. It cannot be changed later; empty: never.',
  type: 'datetime-local',
}

const templateOf = (id: string | null): Template =>
  templates.find((template) => template.id === id) ?? (templates[0] as Template)

export const createScreen: Screen = {
  path: '/applications/new',
  title: 'New application',
  needs: (may) => may('application:create'),
  open: ({ api, filters, setFilters, signal: within, navigate }) => {
    const first = templateOf(filters.peek().get('template'))
    const draft = signal<NewDraft>({ ...draftOf(first, false), expires_at: '' })
    const type = computed(() => draft.value.type)
    const idempotency = createIdempotencyKey()
    const containers = containerSuggestions(api, undefined, within)
    const permissions = resource((signal) => {
      const query = { application_type: type.value }
      return api.call<readonly PermissionInfo[]>('GET', '/permissions', { query, signal })
    }, within)

    const create = action(async () => {
      const { expires_at: expires, ...now } = draft.peek()
      const body = {
        type: now.type,
        ...bodyOf(now),
        ...(expires === '' ? {} : { expires_at: fromLocal(expires) ?? expires }),
      }
      const headers = idempotency.headers(body)
      const created = await api.call<Application>('POST', '/applications', { body, headers })
      idempotency.reset()
      await showKey(created.name, created.key)
      if (!within.aborted)
        navigate(may('application:read') ? link`/applications/${created.id}` : '#/applications/new')
    })
    const change = (part: Partial<NewDraft>) => {
      create.reset()
      draft.value = { ...draft.peek(), ...part }
    }
    const setType = ({ type = 'private' }: { readonly type?: ApplicationType }) =>
      change({
        type,
        permissions: [],
        allowed_origins: '',
        ...(type === 'management' ? { rules: [], destinations: [], response_guard: '' } : {}),
      })
    const choose = (template: Template) => {
      setFilters({ template: template.id })
      change(draftOf(template, false))
    }

    return {
      view: () => {
        const error = create.error.value
        const form = { value: draft.value, error, at: '', change }
        const chosen = templateOf(filters.value.get('template'))
        return html`<form class="application" aria-label="New application" @focusin=${containers.onFocus} @submit=${create.run} novalidate>
          <fieldset class="cards">
            <legend>Template</legend>
            ${templates.map(
              (template) => html`<label class="card box">
                <input
                  type="radio"
                  name="template"
                  .checked=${live(template === chosen)}
                  @change=${() => choose(template)}
                />
                <span><strong>${template.title}</strong><span class="soft small">${template.about}</span></span>
              </label>`,
            )}
          </fieldset>
          ${formProblem(error, fieldPlaces(error))}
          ${fieldsOf([TYPE], { ...form, change: setType })}
          ${show(
            permissions,
            (known) => html`<div class="part">
              ${applicationForm(form, known)} ${section('expiry', 'Expiry', html`${fieldsOf([EXPIRES], form)}`)}
            </div>`,
          )}
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
