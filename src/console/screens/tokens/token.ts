import { applicationNames } from '../../api/application-names.ts'
import { path } from '../../api/client.ts'
import { asApiError } from '../../api/problem.ts'
import type { Destination } from '../../api/types.ts'
import { copyable } from '../../kit/copy.ts'
import { deletion } from '../../kit/deletion.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { problem } from '../../kit/problem.ts'
import { type Resource, resource, show } from '../../kit/resource.ts'
import type { ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { section } from '../../kit/section.ts'
import { snippet } from '../../kit/snippet.ts'
import { relativeTime } from '../../kit/time.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { createAccess } from './access.ts'
import { createAssociations } from './associations.ts'
import { editExpiry, editMetadata } from './change.ts'
import { createHistory } from './history.ts'
import { quotePhrase } from './query.ts'
import { createReveal } from './reveal.ts'
import { MASK_ONLY, TOKEN_NOT_FOUND, type TokenDetail } from './types.ts'

const json = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

const fact = (name: string, value: unknown): TemplateResult =>
  value === undefined || value === nothing ? html`` : html`<dt>${name}</dt><dd>${value}</dd>`

const search = (q: string): string => hashOf('/tokens', { q })

const destination = ({ host, ports = [443], methods, path, surfaces }: Destination): TemplateResult =>
  html`<li><code>${host}:${ports.join(', ')}${path ?? ''}</code> ${[...(methods ?? []), ...(surfaces ?? [])].join(', ')}</li>`

/** Expressions and lists: what a developer looks up. */
const definition = (token: TokenDetail): TemplateResult => html`<details>
  <summary>Expressions</summary>
  <dl class="facts">
    ${fact('Mask', token.mask === undefined ? html`<span class="soft">none</span>` : html`<pre tabindex="0" aria-label="Mask">${json(token.mask)}</pre>`)}
    ${fact('Fingerprint expression', token.fingerprint_expression && html`<code>${token.fingerprint_expression}</code>`)}
    ${fact('Search indexes', token.search_indexes && html`<ul>${token.search_indexes.map((index) => html`<li><code>${index}</code></li>`)}</ul>`)}
  </dl>
</details>`

/** `/tokens/:id`. Sections fail alone: each shows what its key may see. */
export const openToken = (context: ScreenContext): ScreenInstance => {
  const { api, params, signal, title } = context
  const id = params.id ?? ''
  title(id)
  const token = may('token:read')
    ? resource(
        (own) => api.call<TokenDetail>('GET', path`/tokens/${id}`, { query: MASK_ONLY, signal: own }),
        signal,
      )
    : undefined
  const mayLink = may('application:read')
  const access = mayLink ? createAccess(context, id) : undefined
  const history = may('log:read') ? createHistory(context, id) : undefined
  const reveal = createReveal(api, id, signal, () => history?.reload())
  const children = may('token:read') ? createAssociations(context, id) : undefined
  const names = applicationNames(
    api,
    () => {
      const { created_by = '', modified_by = '' } = token?.value.value ?? {}
      return [created_by, modified_by, ...(history?.actors() ?? [])].filter((actor) => actor !== '')
    },
    { isAllowed: mayLink, within: signal },
  )
  const by = (actor: string): TemplateResult => {
    const name = names.value.get(actor)
    const text = name === undefined ? html`<code>${actor.slice(0, 8)}</code>` : html`${name}`
    return mayLink ? html`<a href=${link`/applications/${actor}`}>${text}</a>` : text
  }

  const change = (edit: Promise<boolean>, sentence: string) =>
    edit.then(
      (isDone) => {
        if (!isDone || signal.aborted) return
        notice('done', sentence)
        token?.reload()
        history?.reload()
      },
      (thrown: unknown) => {
        notice('error', asApiError(thrown).detail)
        token?.reload()
      },
    )
  const remove = deletion(context, {
    what: 'Token',
    path: path`/tokens/${id}`,
    back: '#/tokens',
    body: 'Its data is gone for good. Calls that name it fail from then on.',
    entity: () => ({ id, name: id }),
  })

  const data = (shown: TokenDetail): TemplateResult => html`${
    shown.data === undefined
      ? html`<p class="soft">This token has no mask.</p>`
      : html`<pre tabindex="0" aria-label="Masked data">${json(shown.data)}</pre>`
  }
    ${
      shown.disclosure === 'reveal'
        ? reveal.view()
        : html`<p class="soft small">
            ${shown.egress_only ? 'Only proxies send this value. No response holds it.' : 'This key sees masks. A key whose rules reveal this container sees the value.'}
          </p>`
    }`
  const metadata = (shown: TokenDetail): TemplateResult => {
    const entries = Object.entries(shown.metadata ?? {})
    return html`${
      entries.length === 0
        ? html`<span class="soft">none</span>`
        : html`<dl class="facts metadata">
            ${entries.map(([key, value]) => fact(key, html`<a href=${search(`metadata.${key}:${quotePhrase(value)}`)} title="Tokens with this entry">${value}</a>`))}
          </dl>`
    }
    ${
      may('token:update')
        ? html`<button type="button" @click=${() => void change(editMetadata(api, shown), 'Metadata is saved.')}>Edit metadata …</button>`
        : nothing
    }`
  }
  const details = (shown: TokenDetail): TemplateResult => html`${section('data', 'Data', data(shown))}
    ${section(
      'details',
      'Details',
      html`
      <dl class="facts">
        ${fact('Id', copyable(shown.id))}
        ${fact('Type', html`<a href=${hashOf('/tokens', { type: shown.type })}>${shown.type}</a>`)}
        ${fact(
          'Container',
          shown.containers?.map(
            (container) =>
              html`<a href=${hashOf('/tokens', { container: container })}><code>${container}</code></a> `,
          ),
        )}
        ${fact('Metadata', metadata(shown))}
        ${fact('Expires', shown.expires_at === undefined ? html`<span class="soft">never</span>` : relativeTime(shown.expires_at))}
        ${fact('Created', html`${relativeTime(shown.created_at)}${shown.created_by && html` by ${by(shown.created_by)}`}`)}
        ${fact('Changed', shown.modified_at && html`${relativeTime(shown.modified_at)}${shown.modified_by && html` by ${by(shown.modified_by)}`}`)}
        ${fact('Fingerprint', shown.fingerprint && html`<a href=${search(`fingerprint:${quotePhrase(shown.fingerprint)}`)} title="Tokens with the same value"><code>${shown.fingerprint}</code></a>`)}
        ${fact('Destinations', shown.destinations ? html`<ul>${shown.destinations.map(destination)}</ul>` : html`<span class="soft">any that the service allows</span>`)}
        ${fact('Egress only', shown.egress_only ? 'yes: proxies send the value, and nothing else reads it' : undefined)}
      </dl>
      ${definition(shown)}`,
    )}`

  const ownData = (source: Resource<TokenDetail>): TemplateResult => {
    const state = source.state.value
    return state.kind === 'error' && state.error.status === 404
      ? html`<p class="empty">${TOKEN_NOT_FOUND}</p>`
      : show(source, details)
  }

  return {
    actions: () => {
      const shown = token?.value.value
      return html`${token === undefined ? nothing : snippet('GET', path`/tokens/${id}`, { query: MASK_ONLY })}${
        shown !== undefined && may('token:update')
          ? html`<button type="button" @click=${() => void change(editExpiry(api, shown), 'The expiry is set.')}>Set expiry …</button>`
          : nothing
      }${shown !== undefined && may('token:delete') ? html`<button type="button" class="danger" @click=${remove.run}>Delete …</button>` : nothing}`
    },
    view: () => {
      const state = token?.state.value
      const status = state?.kind === 'error' ? state.error.status : undefined
      return html`${remove.error.value === undefined ? nothing : problem(remove.error.value)}
      ${
        token === undefined
          ? html`<p class="soft">
              A management key does not read tokens. It shows who can see this one, and its history. Add a private key to
              see the masked data.
            </p>`
          : ownData(token)
      }
      ${access === undefined || status === 404 ? nothing : section('access', 'Who can see it', access())}
      ${children === undefined || status !== undefined ? nothing : section('associations', 'Associations', children())}
      ${history === undefined ? nothing : section('history', 'History', history.view(by))}`
    },
    close: reveal.hide,
  }
}
