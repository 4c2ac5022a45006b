import { applicationNames } from '../../api/application-names.ts'
import { path } from '../../api/client.ts'
import type { Destination, LogEntry } from '../../api/types.ts'
import { copyable } from '../../kit/copy.ts'
import { deletion } from '../../kit/deletion.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { mayHoldData } from '../../kit/may-hold-data.ts'
import { notice } from '../../kit/notice.ts'
import { problem } from '../../kit/problem.ts'
import { resource } from '../../kit/resource.ts'
import type { ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { section } from '../../kit/section.ts'
import { snippet } from '../../kit/snippet.ts'
import { table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { messageOf } from '../audit/rows.ts'
import { createAccess, showOfToken } from './access.ts'
import { createAssociations } from './associations.ts'
import { dataText } from './cells.ts'
import { changeToken, EXPIRY, METADATA, type TokenForm } from './forms.ts'
import { quotePhrase } from './query.ts'
import { createReveal } from './reveal.ts'
import { MASK_ONLY, type TokenDetail } from './types.ts'

/** Facts that are undefined are left out. */
const facts = (entries: readonly (readonly [name: string, value: unknown])[], kind = '') => html`<dl
  class=${`facts ${kind}`}
>
  ${entries.map(([name, value]) => (value === undefined ? nothing : html`<dt>${name}</dt><dd>${value}</dd>`))}
</dl>`

const soft = (text: string) => html`<span class="soft">${text}</span>`
const code = (text: string) => html`<code>${text}</code>`
const block = (label: string, value: unknown) =>
  html`<pre tabindex="0" aria-label=${label}>${dataText(value, 2)}</pre>`
const listed = <T>(items: readonly T[], view: (item: T) => unknown) =>
  html`<ul>${items.map((item) => html`<li>${view(item)}</li>`)}</ul>`
/** A link to the tokens that a query finds. */
const search = (field: string, value: string, title: string, text: unknown) =>
  html`<a href=${hashOf('/tokens', { q: `${field}:${quotePhrase(value)}` })} title=${title}>${text}</a>`

const destination = ({ host, ports = [443], methods = [], path = '', surfaces = [] }: Destination) =>
  html`${code(`${host}:${ports.join(', ')}${path}`)} ${[...methods, ...surfaces].join(', ')}`

const metadataFacts = ({ metadata = {} }: TokenDetail): TemplateResult => {
  const entries = Object.entries(metadata).map(
    ([key, value]) => [key, search(`metadata.${key}`, value, 'Tokens with this entry', value)] as const,
  )
  return entries.length === 0 ? soft('none') : facts(entries, 'metadata')
}

/** `/tokens/:id`. Sections fail alone: each shows what its key may see. */
export const openToken = (context: ScreenContext): ScreenInstance => {
  const { api, params, signal, title } = context
  const { id = '' } = params
  title(id)
  const own = path`/tokens/${id}`
  const mayLink = may('application:read')
  const token = may('token:read')
    ? resource((signal) => api.call<TokenDetail>('GET', own, { query: MASK_ONLY, signal }), signal)
    : undefined
  const access = mayLink ? createAccess(context, id) : undefined
  const associations = token && createAssociations(context, id)
  const records = may('log:read')
    ? listOf<LogEntry>({ api, signal, path: '/logs', query: () => ({ entity_id: id }), size: 20 })
    : undefined
  const reveal = createReveal(api, id, signal, () => records?.refresh())
  const actors = () => {
    const { created_by, modified_by } = token?.value.value ?? {}
    const all = [created_by, modified_by, ...(records?.rows.value ?? []).map(({ actor_id }) => actor_id)]
    return all.filter((actor) => actor !== undefined)
  }
  const names = applicationNames(api, actors, { isAllowed: mayLink, within: signal })
  const by = (actor: string) => {
    const text = names.value.get(actor) ?? code(actor.slice(0, 8))
    return mayLink ? html`<a href=${link`/applications/${actor}`}>${text}</a>` : html`${text}`
  }
  const change = (time: string, actor: string | undefined) =>
    html`${relativeTime(time)}${actor && html` by ${by(actor)}`}`

  const edit = async (form: TokenForm, shown: TokenDetail) => {
    if (!(await changeToken(api, shown, form)) || signal.aborted) return
    notice('done', form.done)
    token?.reload()
    records?.refresh()
  }
  const editButton = (form: TokenForm, shown: TokenDetail) =>
    may('token:update')
      ? html`<button type="button" @click=${() => void edit(form, shown)}>${form.label}</button>`
      : nothing
  const remove = deletion(context, {
    what: 'Token',
    path: own,
    back: '#/tokens',
    body: 'Its data is gone for good. Calls that name it fail from then on.',
    entity: () => ({ id, name: id }),
  })

  const data = ({ data, disclosure, egress_only }: TokenDetail) => html`${
    data === undefined ? html`<p class="soft">This token has no mask.</p>` : block('Masked data', data)
  }
    ${
      disclosure === 'reveal'
        ? reveal.view()
        : html`<p class="soft small">
            ${egress_only ? 'Only proxies send this value. No response holds it.' : 'This key sees masks. A key whose rules reveal this container sees the value.'}
          </p>`
    }`
  const details = (shown: TokenDetail) => html`${facts([
    ['Id', copyable(shown.id)],
    ['Type', html`<a href=${hashOf('/tokens', { type: shown.type })}>${shown.type}</a>`],
    [
      'Container',
      shown.containers?.map(
        (one) => html`<a href=${hashOf('/tokens', { container: one })}>${code(one)}</a> `,
      ),
    ],
    ['Metadata', html`${metadataFacts(shown)} ${editButton(METADATA, shown)}`],
    ['Expires', shown.expires_at === undefined ? soft('never') : relativeTime(shown.expires_at)],
    ['Created', change(shown.created_at, shown.created_by)],
    ['Changed', shown.modified_at && change(shown.modified_at, shown.modified_by)],
    [
      'Fingerprint',
      shown.fingerprint &&
        search('fingerprint', shown.fingerprint, 'Tokens with the same value', code(shown.fingerprint)),
    ],
    [
      'Destinations',
      shown.destinations ? listed(shown.destinations, destination) : soft('any that the service allows'),
    ],
    ['Egress only', shown.egress_only ? 'yes: proxies send the value, and nothing else reads it' : undefined],
  ])}
    <details>
      <summary>Expressions</summary>
      ${facts([
        ['Mask', shown.mask === undefined ? soft('none') : block('Mask', shown.mask)],
        ['Fingerprint expression', shown.fingerprint_expression && code(shown.fingerprint_expression)],
        ['Search indexes', shown.search_indexes && listed(shown.search_indexes, code)],
      ])}
    </details>`
  const history = (source: NonNullable<typeof records>) => html`${showList(source, (rows) =>
    table<LogEntry>({
      caption: 'History',
      rows,
      empty: 'No audit records of this token are retained.',
      columns: [
        { head: 'When', cell: ({ created_at }) => relativeTime(created_at) },
        {
          head: 'What',
          kind: 'wide',
          cell: (record) => html`${messageOf(record)} ${soft(record.surfaces?.join(', ') ?? '')}`,
        },
        { head: 'By', cell: ({ actor_id }) => (actor_id === undefined ? 'anonymous' : by(actor_id)) },
      ],
    }),
  )}
    ${mayHoldData(id) ? nothing : html`<p><a href=${hashOf('/audit', { entity_id: id })}>These records in Audit</a></p>`}`

  return {
    actions: () => {
      const shown = token?.value.value
      return html`${token === undefined ? nothing : snippet('GET', own, { query: MASK_ONLY })}
      ${shown === undefined ? nothing : editButton(EXPIRY, shown)}
      ${
        shown !== undefined && may('token:delete')
          ? html`<button type="button" class="danger" @click=${remove.run}>Delete …</button>`
          : nothing
      }`
    },
    view: () => {
      const state = token?.state.value
      const status = state?.kind === 'error' ? state.error.status : undefined
      const error = remove.error.value
      return html`${error === undefined ? nothing : problem(error)}
      ${
        token === undefined
          ? html`<p class="soft">
              A management key does not read tokens. It shows who can see this one, and its history. Add a private key to
              see the masked data.
            </p>`
          : showOfToken(
              token,
              (shown) =>
                html`${section('data', 'Data', data(shown))} ${section('details', 'Details', details(shown))}`,
            )
      }
      ${access && status !== 404 ? section('access', 'Who can see it', access()) : nothing}
      ${associations && status === undefined ? section('associations', 'Associations', associations()) : nothing}
      ${records ? section('history', 'History', history(records)) : nothing}`
    },
    close: reveal.hide,
  }
}
