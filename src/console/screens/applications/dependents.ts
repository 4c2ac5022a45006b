import { type Api, path } from '../../api/client.ts'
import { type ListResponse, nextPageQuery } from '../../kit/list.ts'
import type { May } from '../../kit/screen.ts'
import { formatCount } from './phrase.ts'

/** Newest entities of each kind that are looked through. */
const LOOKED = 100

/** Entities that may depend on an application, in sentences such as "1 open session ends." */
const KINDS = [
  { kind: 'sessions', permission: 'session:read', noun: 'open session', verb: 'end' },
  { kind: 'proxies', permission: 'proxy:read', noun: 'proxy', verb: 'act' },
  { kind: 'reactors', permission: 'reactor:read', noun: 'reactor', verb: 'act' },
] as const

/** A session, or a proxy or a reactor with its name, and the applications that it depends on. */
interface Dependent {
  readonly name?: string
  readonly state?: string
  readonly application_id?: string
  readonly application?: { readonly id: string }
  readonly authorized_by?: string
}

/** `1 key stops`, `2 proxies act as it: “One”, “Two”`, with a few names. */
const subject = (entities: readonly Dependent[], noun: string, verb: string): string => {
  const names = entities.flatMap(({ name }) => (name === undefined ? [] : [`“${name}”`]))
  const more = names.length > 3 ? ` and ${names.length - 3} more` : ''
  const named = names.length === 0 ? '' : ` as it: ${names.slice(0, 3).join(', ')}${more}`
  return `${formatCount(entities.length, noun)} ${verb}${entities.length === 1 ? 's' : ''}${named}`
}

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
  const sentencesOf = async ({ kind, permission, noun, verb }: (typeof KINDS)[number]) => {
    if (!may(permission)) return []
    const page = await api.call<ListResponse<Dependent>>('GET', `/${kind}`, {
      query: { size: LOOKED },
      signal,
    })
    if (nextPageQuery(page) !== undefined) truncated.push(kind)
    const dependents = page.data.filter(
      ({ state, application_id, application, authorized_by }) =>
        state !== 'ended' && [application_id, application?.id, authorized_by].includes(id),
    )
    return dependents.length === 0 ? [] : [`${subject(dependents, noun, verb)}.`]
  }
  const [keys, ...sentences] = await Promise.all([
    api.call<readonly object[]>('GET', path`/applications/${id}/keys`, { signal }),
    ...KINDS.map(sentencesOf),
  ])
  return [
    keys.length === 0 ? 'It has no key.' : `${subject(keys, 'key', 'stop')} working at once.`,
    ...sentences.flat(),
    ...(truncated.length > 0
      ? [`Only the newest ${LOOKED} ${truncated.sort().join(', ')} were looked through.`]
      : []),
  ]
}
