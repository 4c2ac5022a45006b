import { type Api, path } from '../../api/client.ts'
import type { ListResponse } from '../../kit/list.ts'
import type { AccessEntry } from './types.ts'

/** Entries of one way to a token with the same outcome and reason. */
export interface AccessRow extends Pick<AccessEntry, 'application' | 'disclosure' | 'rule' | 'through'> {
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
    group('See the value', 'Responses hold it.', (entry) => entry.disclosure === 'reveal' && !isUse(entry)),
    group(
      'Use the value',
      'Proxies send it to destinations, and code of reactors gets it.',
      (entry) => entry.disclosure === 'reveal' && isUse(entry),
    ),
    group('See a mask', 'Responses hold the masked data.', (entry) => entry.disclosure === 'mask'),
    group('See no data', 'They may do this without seeing data.', (entry) => entry.disclosure === 'redact'),
  ].filter(({ rows }) => rows.length > 0)
}

/** Pages of one list: an entry that reveals may be on any of them. */
const MAX_PAGES = 20

/** All entries of a token, and how many there are. */
export const loadAccess = async (
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
