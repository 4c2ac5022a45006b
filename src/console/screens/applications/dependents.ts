import { type Api, path } from '../../api/client.ts'
import { type ListResponse, nextPageQuery } from '../../kit/list.ts'
import type { May } from '../../kit/screen.ts'
import { formatCount } from './phrase.ts'

/** Newest entities of each kind that are looked through. */
const LOOKED = 100

/** Lists of what may depend on an application, in sentences such as "1 open session ends." */
const KINDS = [
  { list: 'sessions', permission: 'session:read', noun: 'open session', verb: 'end' },
  { list: 'proxies', permission: 'proxy:read', noun: 'proxy', verb: 'act' },
  { list: 'reactors', permission: 'reactor:read', noun: 'reactor', verb: 'act' },
] as const

interface Dependent {
  readonly name?: string
  /** Application of a session, and that a proxy acts as. */
  readonly application_id?: string
  /** Application that a reactor acts as. */
  readonly application?: { readonly id: string }
  /** Application that authorized a session. */
  readonly authorized_by?: string
  /** State of a session. */
  readonly state?: string
}

/** `1 key stops`, `2 keys stop`. */
const subject = (entities: readonly unknown[], noun: string, verb: string): string =>
  `${formatCount(entities.length, noun)} ${entities.length === 1 ? `${verb}s` : verb}`

/** `: “One”, “Two”`, at most a few of them. */
const quotedNames = (all: readonly Dependent[]): string =>
  ` as it: ${all
    .slice(0, 3)
    .map(({ name }) => `“${name}”`)
    .join(', ')}${all.length > 3 ? ` and ${all.length - 3} more` : ''}`

/**
 * Sentences about what ends with an application, as far as the signed-in keys may know: its keys, its open sessions,
 * and proxies and reactors that act as it.
 */
export const dependentsOf = async (
  api: Api,
  id: string,
  may: May,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  /** Kinds that have more than those that are looked through. */
  const truncated: string[] = []
  const sentenceOf = async ({ list, permission, noun, verb }: (typeof KINDS)[number]) => {
    if (!may(permission)) return []
    const page = await api.call<ListResponse<Dependent>>('GET', `/${list}`, {
      query: { size: LOOKED },
      signal,
    })
    if (nextPageQuery(page) !== undefined) truncated.push(list)
    const dependents = page.data.filter(
      ({ application_id, application, authorized_by, state }) =>
        state !== 'ended' && [application_id, application?.id, authorized_by].includes(id),
    )
    return dependents.length === 0
      ? []
      : [`${subject(dependents, noun, verb)}${verb === 'act' ? quotedNames(dependents) : ''}.`]
  }
  const [keys, ...sentences] = await Promise.all([
    api.call<readonly unknown[]>('GET', path`/applications/${id}/keys`, { signal }),
    ...KINDS.map(sentenceOf),
  ])
  return [
    keys.length === 0 ? 'It has no key.' : `${subject(keys, 'key', 'stop')} working at once.`,
    ...sentences.flat(),
    ...(truncated.length === 0
      ? []
      : [`Only the newest ${LOOKED} ${truncated.sort().join(', ')} were looked through.`]),
  ]
}
