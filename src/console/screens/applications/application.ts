import { path } from '../../api/client.ts'
import type { Application, RequestEntry } from '../../api/types.ts'
import { copyable } from '../../kit/copy.ts'
import { deletion } from '../../kit/deletion.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { problem } from '../../kit/problem.ts'
import { type Resource, resource, show } from '../../kit/resource.ts'
import type { Screen, ScreenContext } from '../../kit/screen.ts'
import { section } from '../../kit/section.ts'
import { snippet } from '../../kit/snippet.ts'
import { relativeTime } from '../../kit/time.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { dependentsOf } from './dependents.ts'
import { keysOf } from './keys.ts'
import { phraseOf } from './phrase.ts'
import { destinationNames, expiry, isOwn, permissionNames, rulesTable } from './views.ts'

/** Calls of this node that are looked through for the newest of the application. */
const LOOKED = 100

const newestCall = (call: Resource<RequestEntry | undefined>): TemplateResult => {
  const state = call.state.value
  if (state.kind === 'error') return html`<span class="soft">not known: ${state.error.detail}</span>`
  if (state.kind !== 'ready') return html`<span class="soft">…</span>`
  const { value } = state
  return value === undefined
    ? html`<span class="soft">none among the newest ${LOOKED} calls of this machine</span>`
    : html`${relativeTime(value.at)} <code>${value.method} ${value.route}</code>`
}

const details = (context: ScreenContext, application: Application): (() => TemplateResult) => {
  const { api, signal: within } = context
  const { id, type } = application
  const keys = keysOf(context, application)
  const calls = may('log:read')
    ? resource(
        async (abort) =>
          (
            await api.call<ListResponse<RequestEntry>>('GET', '/requests', {
              query: { size: LOOKED },
              signal: abort,
            })
          ).data.find((call) => call.application?.id === id),
        within,
      )
    : undefined

  return () => html`<div class="stack">
    <p>${phraseOf(application)}.</p>
    ${isOwn(id) ? html`<p class="warning">You are signed in with this application.</p>` : nothing}
    <dl class="facts">
      <dt>Type</dt>
      <dd><span class="badge">${type}</span></dd>
      <dt>Id</dt>
      <dd>${copyable(id)}</dd>
      <dt>Created</dt>
      <dd>${relativeTime(application.created_at)}</dd>
      ${
        application.modified_at === undefined
          ? nothing
          : html`<dt>Changed</dt><dd>${relativeTime(application.modified_at)}</dd>`
      }
      <dt>Expires</dt>
      <dd>${expiry(application.expires_at)}</dd>
      ${calls === undefined ? nothing : html`<dt>Newest call</dt><dd>${newestCall(calls)}</dd>`}
    </dl>
    ${section('keys', 'Keys', keys())}
    ${section(
      'access',
      'Access',
      html`<dl class="facts">
          <dt>Permissions</dt>
          <dd>${permissionNames(application.permissions)}</dd>
          ${type === 'management' ? nothing : html`<dt>Destinations</dt><dd>${destinationNames(application.destinations)}</dd>`}
          ${application.response_guard === undefined ? nothing : html`<dt>Response guard</dt><dd>${application.response_guard}</dd>`}
        </dl>
        ${type === 'management' || application.rules.length === 0 ? nothing : rulesTable(application.rules)}`,
    )}
    <p class="actions">
      ${
        may('log:read')
          ? html`<a href=${hashOf('/requests', { application: id })}>Requests</a>
              <a href=${hashOf('/audit', { entity_type: 'application', entity_id: id })}>Audit records</a>`
          : nothing
      }
      ${snippet('GET', path`/applications/${id}`)}
    </p>
  </div>`
}

export const applicationScreen: Screen = {
  path: '/applications/:id',
  title: 'Application',
  needs: (may) => may('application:read'),
  open: (context) => {
    const { api, params, signal: within, title } = context
    const { id = '' } = params
    const loaded = resource(async (abort) => {
      const application = await api.call<Application>('GET', path`/applications/${id}`, { signal: abort })
      title(application.name)
      return { application, view: details(context, application) }
    }, within)

    const remove = deletion(context, {
      what: 'Application',
      path: path`/applications/${id}`,
      back: '#/applications',
      entity: () => loaded.value.peek()?.application,
      body: async () => {
        const sentences = await dependentsOf(api, id, may, within)
        return html`<p>This cannot be undone.</p>
          <ul>${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul>
          ${isOwn(id) ? html`<p class="warning"><strong>You are signed in with this application.</strong> Your session ends with it.</p>` : nothing}`
      },
    })

    return {
      actions: () =>
        loaded.value.value === undefined
          ? html``
          : html`${may('application:update') ? html`<a class="button" href=${link`/applications/${id}/edit`}>Edit</a>` : nothing}
            ${
              may('application:delete')
                ? html`<button type="button" class="danger" @click=${remove.run}>Delete</button>`
                : nothing
            }`,
      view: () =>
        html`${remove.error.value === undefined ? nothing : problem(remove.error.value)}
        ${show(loaded, ({ view }) => view())}`,
    }
  },
}
