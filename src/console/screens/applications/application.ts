import { path } from '../../api/client.ts'
import type { Application, RequestEntry, Rule } from '../../api/types.ts'
import { copyable } from '../../kit/copy.ts'
import { deletion } from '../../kit/deletion.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { problem } from '../../kit/problem.ts'
import { type Resource, resource, show } from '../../kit/resource.ts'
import type { Screen, ScreenContext } from '../../kit/screen.ts'
import { facts, section } from '../../kit/section.ts'
import { snippet } from '../../kit/snippet.ts'
import { table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { dependentsOf } from './dependents.ts'
import { containerLabel } from './difference.ts'
import { expiry, isOwn, keysOf } from './keys.ts'
import { destinationText, phraseOf } from './phrase.ts'

const soft = (text: string): TemplateResult => html`<span class="soft">${text}</span>`

/** Texts, which wrap between them; `none` instead of an empty list. */
const names = (texts: readonly string[] | undefined, none: string): TemplateResult =>
  texts === undefined || texts.length === 0
    ? soft(none)
    : html`<ul class="names">${texts.map((text) => html`<li><code>${text}</code></li>`)}</ul>`

const permissionNames = ({ permissions }: Application | Rule) => names(permissions, 'none')

const destinationNames = ({ destinations }: Application | Rule) =>
  names(destinations?.map(destinationText), 'anywhere that egress allows')

/** Rules in the order in which they are tried. */
const rulesTable = (rules: readonly Rule[]): TemplateResult =>
  table({
    caption: 'Rules',
    rows: rules.toSorted((a, b) => a.priority - b.priority),
    columns: [
      { head: 'Priority', kind: 'number', cell: ({ priority }) => priority },
      {
        head: 'Container',
        cell: ({ container }) => html`<code title=${containerLabel(container)}>${container}</code>`,
      },
      { head: 'Disclosure', cell: ({ transform }) => html`<span class="badge">${transform}</span>` },
      { head: 'Permissions', cell: permissionNames },
      { head: 'Description', cell: ({ description }) => description },
      { head: 'Destinations', cell: destinationNames },
    ],
  })

const newestCall = ({ state: { value: state } }: Resource<RequestEntry | undefined>): TemplateResult => {
  if (state.kind === 'error') return soft(`not known: ${state.error.detail}`)
  if (state.kind !== 'ready') return soft('…')
  const { value: call } = state
  return call === undefined
    ? soft('none that this node retains')
    : html`${relativeTime(call.at)} <code>${call.method} ${call.route}</code>`
}

const details = (context: ScreenContext, application: Application): (() => TemplateResult) => {
  const { id, type } = application
  const hasTokens = type !== 'management'
  const keys = keysOf(context, application)
  const findNewestCall = async (signal: AbortSignal) => {
    const query = { application: id, size: 1 }
    const page = await context.api.call<ListResponse<RequestEntry>>('GET', '/requests', { query, signal })
    return page.data[0]
  }
  const call = may('log:read') ? resource(findNewestCall, context.signal) : undefined

  return () => html`<div class="sections">
    <div>
      <p>${phraseOf(application)}.</p>
      ${isOwn(id) ? html`<p class="warning">You are signed in with this application.</p>` : nothing}
      ${facts([
        ['Type', html`<span class="badge">${type}</span>`],
        ['Id', copyable(id)],
        ['Created', relativeTime(application.created_at)],
        ['Changed', application.modified_at && relativeTime(application.modified_at)],
        ['Expires', expiry(application.expires_at)],
        ['Newest call', call && newestCall(call)],
      ])}
    </div>
    ${section('keys', 'Keys', keys())}
    ${section(
      'access',
      'Access',
      html`${facts([
        ['Permissions', permissionNames(application)],
        ['Destinations', hasTokens ? destinationNames(application) : undefined],
        ['Response guard', application.response_guard],
        ['Allowed origins', type === 'public' ? names(application.allowed_origins, 'none') : undefined],
      ])}
      ${hasTokens && application.rules.length > 0 ? rulesTable(application.rules) : nothing}`,
    )}
    <p class="buttons">
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
    const where = path`/applications/${id}`
    const loaded = resource(async (signal) => {
      const application = await api.call<Application>('GET', where, { signal })
      title(application.name)
      return { application, view: details(context, application) }
    }, within)

    const remove = deletion(context, {
      what: 'Application',
      path: where,
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
            ${may('application:delete') ? html`<button type="button" class="danger" @click=${remove.run}>Delete</button>` : nothing}`,
      view: () =>
        html`${remove.error.value === undefined ? nothing : problem(remove.error.value)}
        ${show(loaded, ({ view }) => view())}`,
    }
  },
}
