import { type Api, path } from '../../api/client.ts'
import type { Application, Disclosure, Rule } from '../../api/types.ts'
import type { ListResponse } from '../../kit/list.ts'

/** `GET /tokens/{id}/access`. */
interface AccessEntry {
  readonly application: Pick<Application, 'id' | 'name' | 'type'>
  readonly permission: string
  readonly disclosure: Disclosure
  readonly rule?:
    | (Pick<Rule, 'priority' | 'transform' | 'destinations'> &
        Partial<Pick<Rule, 'description' | 'container'>> & {
          readonly conditions?: readonly Readonly<Record<'attribute' | 'operator' | 'value', string>>[]
        })
    | null
  readonly through?: {
    readonly type: 'session' | 'proxy' | 'reactor'
    readonly id: string
    readonly name?: string
  }
}

/** Entries of one way to a token with the same outcome and reason. `permissions`: `read`, `search`, … */
export type AccessRow = Omit<AccessEntry, 'permission'> & { readonly permissions: readonly string[] }

type Group = readonly [title: string, about: string, has: (entry: AccessEntry) => boolean]

const isUse = ({ permission }: AccessEntry) => permission === 'token:use'

/** Groups by disclosure, values first. */
const GROUPS: readonly Group[] = [
  ['See the value', 'Responses hold it.', (entry) => entry.disclosure === 'reveal' && !isUse(entry)],
  [
    'Use the value',
    'Proxies send it to destinations, and code of reactors gets it.',
    (entry) => entry.disclosure === 'reveal' && isUse(entry),
  ],
  ['See a mask', 'Responses hold the masked data.', ({ disclosure }) => disclosure === 'mask'],
  ['See no data', 'They may do this without seeing data.', ({ disclosure }) => disclosure === 'redact'],
]

const identityOf = ({ application, disclosure, rule, through }: AccessEntry): string =>
  JSON.stringify([application.id, through?.type, through?.id, disclosure, rule])

const rowsOf = (entries: readonly AccessEntry[]): readonly AccessRow[] =>
  [...Map.groupBy(entries, identityOf).values()].map((same) => ({
    ...same[0]!,
    permissions: same.map(({ permission }) => permission.replace(/^token:/, '')),
  }))

/** Access entries in their groups. Empty groups are left out. */
export const groupsOf = (entries: readonly AccessEntry[]) =>
  GROUPS.map(([title, about, has]) => ({ title, about, rows: rowsOf(entries.filter(has)) })).filter(
    ({ rows }) => rows.length > 0,
  )

/** Pages of one list: an entry that reveals may be on any of them. */
const MAX_PAGES = 20

/** All entries of a token, and how many there are. */
export const loadAccess = async (api: Pick<Api, 'call'>, id: string, signal?: AbortSignal) => {
  const entries: AccessEntry[] = []
  for (let page = 1; ; page++) {
    const options = { query: { page, size: 100 }, signal }
    const response = await api.call<ListResponse<AccessEntry>>('GET', path`/tokens/${id}/access`, options)
    const { data, pagination } = response
    entries.push(...data)
    if (page >= Math.min(MAX_PAGES, pagination.total_pages ?? 1))
      return { entries, total: pagination.total_items ?? entries.length }
  }
}
