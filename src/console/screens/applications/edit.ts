import { path } from '../../api/client.ts'
import type { Application } from '../../api/types.ts'
import { dialog } from '../../kit/dialog.ts'
import { action, formProblem } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { problem } from '../../kit/problem.ts'
import { resource, show } from '../../kit/resource.ts'
import { saveLatest } from '../../kit/save-latest.ts'
import type { Screen, ScreenContext } from '../../kit/screen.ts'
import { computed, signal } from '../../kit/signals.ts'
import { exactTime } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { sessionStatus } from '../../session.ts'
import { compare, liveDifference } from './access-diff.ts'
import { changesOf } from './changes.ts'
import { type Differences, differences, sentencesOf } from './difference.ts'
import { bodyOf, type Draft, type DraftBody, draftOf, isSameBody } from './draft.ts'
import { fieldPlaces } from './fields.ts'
import { applicationForm, containerSuggestions } from './form.ts'
import { isOwn } from './keys.ts'
import type { Diff, PermissionInfo } from './types.ts'

const NO_DIFFERENCE: Diff = { data: [] }

/** Drafts of screens that were left, by application, with their originals. Signing out forgets them with the page. */
const unsaved = new Map<string, { readonly base: Application; readonly draft: Draft }>()

// Drafts are stored nowhere: a reload loses them.
globalThis.window?.addEventListener('beforeunload', (event) => {
  if (unsaved.size > 0 && sessionStatus.peek() !== 'unknown') event.preventDefault()
})

const storedBody = (application: Application): DraftBody => bodyOf(draftOf(application))

/** A change of the application that is signed in takes permissions from this very page. */
const ownWarning = ({ id, permissions }: Application, next: readonly string[]) => {
  const lost = permissions.filter((permission) => !next.includes(permission))
  return isOwn(id) && lost.length > 0
    ? html`<p class="warning"><strong>You are signed in with this application.</strong> You lose ${lost.join(', ')}.</p>`
    : nothing
}

/** The draft with its rules joined to those that are stored now, to name what saving changes. */
const draftAgainst = (now: Application, draft: Draft): Draft => ({
  ...draft,
  rules: draft.rules.map(({ stored: _, ...rule }) => {
    const same = now.rules.find(({ priority }) => priority === rule.priority)
    return same === undefined ? rule : { ...rule, stored: same }
  }),
})

/** The draft of before, while what it was made of is still stored. */
const draftFor = (application: Application) => {
  const former = unsaved.get(application.id)
  if (former !== undefined && isSameBody(storedBody(former.base), storedBody(application))) {
    notice('info', 'Your unsaved changes are still here.')
    return former
  }
  unsaved.delete(application.id)
  return { base: application, draft: draftOf(application) }
}

/** The editor of one application, as it was read. */
const editor = (
  { api, signal: within, navigate }: ScreenContext,
  application: Application,
  permissions: readonly PermissionInfo[],
  reload: () => void,
) => {
  const { id } = application
  const { base, draft: first } = draftFor(application)
  const isManagement = base.type === 'management'
  const draft = signal(first)
  const stored = storedBody(base)
  const changed = computed(() => {
    const body = bodyOf(draft.value)
    return isSameBody(body, stored) ? undefined : body
  })
  const grantsChanged = computed(() => {
    const body = bodyOf(draft.value)
    const { permissions, rules } = body
    return isManagement || isSameBody({ ...stored, permissions, rules }, stored) ? undefined : body
  })
  const live = liveDifference(api, id, grantsChanged, within)
  const containers = containerSuggestions(api, base, within)
  const differencesOf = (diff: Diff, before: Application, after: Draft): Differences => ({
    access: sentencesOf(diff),
    changes: changesOf(before, after),
    more: diff.more === true,
    isManagement,
  })

  /** Shows what saving changes of `now`, which is stored. True: save it. */
  const ask = async (now: Application, saved: Draft, body: DraftBody): Promise<boolean> => {
    const diff = isManagement ? NO_DIFFERENCE : await compare(api, id, body, within)
    const isOverwrite = !isSameBody(storedBody(now), stored)
    const [before, after] = isOverwrite ? [now, draftAgainst(now, saved)] : [base, saved]
    const changedAt = now.modified_at === undefined ? '' : `It was changed on ${exactTime(now.modified_at)}. `
    const warning = html`<div class="problem" role="alert">
      <h3>The application changed since you opened it</h3>
      <p>${changedAt}Saving replaces that change. The differences below are with what is stored now.</p>
    </div>`
    const choice = await dialog<'save' | 'reload'>({
      title: `Save ${base.name}?`,
      body: (close) => {
        const button = (label: string, choice?: 'save' | 'reload', kind = '') =>
          html`<button type="button" class=${kind} @click=${() => close(choice)}>${label}</button>`
        return html`${isOverwrite ? warning : nothing} ${ownWarning(now, body.permissions)}
          ${differences(differencesOf(diff, before, after))}
          <div class="buttons">
            ${button('Cancel')}
            ${isOverwrite ? button('Discard mine, load what is stored', 'reload') : nothing}
            ${isOverwrite ? button('Save over it', 'save', 'danger') : button('Save', 'save', 'primary')}
          </div>`
      },
    })
    if (choice === 'reload') {
      unsaved.delete(id)
      reload()
    }
    return choice === 'save'
  }

  const save = action(async () => {
    const saved = draft.peek()
    const body = bodyOf(saved)
    const result = await saveLatest({
      read: () => api.call<Application>('GET', path`/applications/${id}`, { signal: within }),
      part: storedBody,
      ask: (now) => ask(now, saved, body),
      save: () => api.call<Application>('PUT', path`/applications/${id}`, { body }),
    })
    if (result === undefined) return
    unsaved.delete(id)
    notice('done', 'Application saved.')
    navigate(link`/applications/${id}`)
  })

  const change = (part: Partial<Draft>) => {
    save.reset()
    draft.value = { ...draft.peek(), ...part }
    if (changed.peek() === undefined) unsaved.delete(id)
    else unsaved.set(id, { base, draft: draft.peek() })
  }

  const pane = (): TemplateResult => {
    const state = live.state.value
    if (changed.value === undefined) return html`<p class="soft">Nothing changed yet.</p>`
    if (state.kind === 'ready')
      return html`<div class="differences">${differences(differencesOf(state.value, base, draft.value))}</div>`
    if (state.kind !== 'error') return html`<p class="soft">Comparing with all tokens …</p>`
    return state.error.status === 400
      ? html`<p role="status">Correct the marked fields to see the differences.</p>`
      : problem(state.error, live.reload)
  }

  return (): TemplateResult => {
    const state = live.state.value
    const failed = save.error.value
    const error = failed ?? (state.kind === 'error' && state.error.status === 400 ? state.error : undefined)
    return html`<form class="application with-pane" aria-label="Application" @focusin=${containers.onFocus} @submit=${save.run} novalidate>
      <div class="part">
        ${formProblem(failed, fieldPlaces(failed))}
        ${applicationForm({ value: draft.value, error, at: '', change }, permissions)}
      </div>
      <aside aria-label="Differences" class="card">
        <h2>
          Differences
          ${live.waiting.value || live.busy.value ? html`<span class="soft small">comparing …</span>` : nothing}
        </h2>
        ${pane()}
        <div class="buttons">
          <a class="button" href=${link`/applications/${id}`} @click=${() => unsaved.delete(id)}>Cancel</a>
          <button class="primary" ?disabled=${changed.value === undefined}>Save …</button>
        </div>
      </aside>
      ${containers.list()}
    </form>`
  }
}

export const editScreen: Screen = {
  path: '/applications/:id/edit',
  title: 'Edit application',
  needs: (may) => may('application:read') && may('application:update'),
  open: (context) => {
    const { api, params, signal: within, title } = context
    const loaded = resource(async (signal) => {
      const where = path`/applications/${params.id ?? ''}`
      const application = await api.call<Application>('GET', where, { signal })
      const query = { application_type: application.type }
      const permissions = await api.call<readonly PermissionInfo[]>('GET', '/permissions', { query, signal })
      title(`Edit ${application.name}`)
      return { view: editor(context, application, permissions, () => loaded.reload()) }
    }, within)
    return { view: () => show(loaded, ({ view }) => view()) }
  },
}
