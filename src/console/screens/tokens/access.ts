import { type Api, path } from '../../api/client.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { count } from '../../kit/numbers.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { type Column, table } from '../../kit/table.ts'
import { link } from '../../router.ts'
import { type AccessEntry, TOKEN_NOT_FOUND } from './types.ts'

/** Entries of one way to a token with the same outcome and reason. */
interface AccessRow extends Pick<AccessEntry, 'application' | 'disclosure' | 'rule' | 'through'> {
  /** `read`, `search`, … */
  readonly permissions: readonly string[]
}

const identityOf = ({ application, disclosure, rule, through }: AccessEntry): string =>
  JSON.stringify([application.id, through?.type, through?.id, disclosure, rule])

const mergePermissions = (entries: readonly AccessEntry[]): readonly AccessRow[] => {
  const rows = new Map<string, AccessRow>()
  for (const entry of entries) {
    const identity = identityOf(entry)
    const permission = entry.permission.replace(/^token:/, '')
    const { permissions = [] } = rows.get(identity) ?? {}
    rows.set(identity, { ...entry, permissions: [...permissions, permission] })
  }
  return [...rows.values()]
}

interface AccessGroup {
  readonly title: string
  readonly about: string
  readonly rows: readonly AccessRow[]
}

/** Access entries in groups by disclosure, values first. Empty groups are left out. */
export const groupsOf = (entries: readonly AccessEntry[]): readonly AccessGroup[] => {
  const isUse = ({ permission }: AccessEntry) => permission === 'token:use'
  const group = (title: string, about: string, belongs: (entry: AccessEntry) => boolean): AccessGroup => ({
    title,
    about,
    rows: mergePermissions(entries.filter(belongs)),
  })
  return [
    group('See the value', 'Responses hold it.', (one) => one.disclosure === 'reveal' && !isUse(one)),
    group(
      'Use the value',
      'Proxies send it to destinations, and code of reactors gets it.',
      (one) => one.disclosure === 'reveal' && isUse(one),
    ),
    group('See a mask', 'Responses hold the masked data.', (one) => one.disclosure === 'mask'),
    group('See no data', 'They may do this without seeing data.', (one) => one.disclosure === 'redact'),
  ].filter(({ rows }) => rows.length > 0)
}

/** The rule that decides, or the permission. */
const reason = ({ rule, permissions }: AccessRow): TemplateResult => {
  if (rule === undefined || rule === null)
    return html`permission ${permissions.map((one) => html`<code>token:${one}</code> `)}`
  const where =
    rule.container ??
    rule.conditions?.map((one) => `${one.attribute} ${one.operator} ${one.value}`).join(', ')
  return html`rule ${rule.priority}${rule.description ? html` “${rule.description}”` : nothing}: <code>${rule.transform}</code>
    in <code>${where}</code>${rule.destinations === undefined ? nothing : html`, to ${rule.destinations.map(({ host }) => host).join(', ')} only`}`
}

const throughOf = ({ through }: AccessRow): TemplateResult => {
  if (through === undefined) return html`its key`
  const name = through.name ?? through.id.slice(0, 8)
  if (through.type === 'proxy') return html`proxy <a href=${link`/proxies/${through.id}`}>${name}</a>`
  if (through.type === 'reactor') return html`reactor <a href=${link`/reactors/${through.id}`}>${name}</a>`
  return html`session <code>${name}</code>`
}

const columns: readonly Column<AccessRow>[] = [
  {
    head: 'Application',
    cell: ({ application: { id, name, type } }) =>
      html`<a href=${link`/applications/${id}`}>${name}</a> <span class="soft">${type}</span>`,
  },
  { head: 'Through', cell: throughOf },
  {
    head: 'May',
    cell: ({ permissions }) => html`<span class="one-line">${permissions.join(', ')}</span>`,
  },
  { head: 'Because of', kind: 'wide', cell: reason },
]

/** Pages of one list: an entry that reveals may be on any of them. */
const MAX_PAGES = 20

/** All entries of a token, and how many there are. */
export const allAccess = async (
  api: Pick<Api, 'call'>,
  id: string,
  signal?: AbortSignal,
): Promise<{ readonly entries: readonly AccessEntry[]; readonly total: number }> => {
  const entries: AccessEntry[] = []
  for (let page = 1; ; page++) {
    const query = { page, size: 100 }
    const { data, pagination } = await api.call<ListResponse<AccessEntry>>(
      'GET',
      path`/tokens/${id}/access`,
      { query, signal },
    )
    entries.push(...data)
    if (page >= Math.min(MAX_PAGES, pagination.total_pages ?? 1))
      return { entries, total: pagination.total_items ?? entries.length }
  }
}

/** "Who can see it and through what": needs `application:read`. */
export const createAccess = ({ api, signal }: ScreenContext, id: string): (() => TemplateResult) => {
  const loaded = resource((own) => allAccess(api, id, own), signal)
  return () => {
    const state = loaded.state.value
    if (state.kind === 'error' && state.error.status === 404)
      return html`<p class="empty">${TOKEN_NOT_FOUND}</p>`
    return show(loaded, ({ entries, total }) =>
      entries.length === 0
        ? html`<p class="empty">No key can see or use this token.</p>`
        : html`${entries.length === total ? nothing : html`<p role="status">These are ${count(entries.length)} of ${count(total)} ways. Look for others by their applications' rules.</p>`}
          ${groupsOf(entries).map(
            ({ title, about, rows }) => html`<div class="group">
                <h3>
                  ${title} <span class="badge">${new Set(rows.map(({ application }) => application.id)).size}</span>
                </h3>
                <p class="soft small">${about}</p>
              </div>
              ${table<AccessRow>({ caption: title, rows, columns })}`,
          )}`,
    )
  }
}
