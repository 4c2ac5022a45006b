import { type Api, path } from '../../api/client.ts'
import { type ListResponse, nextPageQuery } from '../../kit/list.ts'
import type { May } from '../../kit/screen.ts'
import { formatCount } from './phrase.ts'
import type { ApplicationKey } from './types.ts'

/** Newest entities of each kind that are looked through. */
const LOOKED = 100

interface ActingEntity {
  readonly id: string
  readonly name: string
  /** Application that a proxy acts as. */
  readonly application_id?: string
  /** Application that a reactor acts as. */
  readonly application?: { readonly id: string }
}

interface SessionInfo {
  readonly application_id: string
  readonly authorized_by?: string
  readonly state: string
}

/** `1 key stops`, `2 keys stop`. */
const subject = (entities: readonly unknown[], noun: string, verb: string): string =>
  `${formatCount(entities.length, noun)} ${entities.length === 1 ? `${verb}s` : verb}`

/** Names of proxies and reactors, at most a few of them. */
const quotedNames = (all: readonly ActingEntity[]): string =>
  all
    .slice(0, 3)
    .map(({ name }) => `“${name}”`)
    .join(', ') + (all.length > 3 ? ` and ${all.length - 3} more` : '')

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
  const truncatedKinds: string[] = []
  const list = async <T>(
    kind: 'sessions' | 'proxies' | 'reactors',
    permission: string,
  ): Promise<readonly T[]> => {
    if (!may(permission)) return []
    const page = await api.call<ListResponse<T>>('GET', `/${kind}`, { query: { size: LOOKED }, signal })
    if (nextPageQuery(page) !== undefined) truncatedKinds.push(kind)
    return page.data
  }
  const [keys, sessions, proxies, reactors] = await Promise.all([
    api.call<readonly ApplicationKey[]>('GET', path`/applications/${id}/keys`, { signal }),
    list<SessionInfo>('sessions', 'session:read'),
    list<ActingEntity>('proxies', 'proxy:read'),
    list<ActingEntity>('reactors', 'reactor:read'),
  ])
  const open = sessions.filter(
    (session) => session.state !== 'ended' && (session.application_id === id || session.authorized_by === id),
  )
  const acting = (noun: string, all: readonly ActingEntity[]) => {
    const dependents = all.filter((entity) => (entity.application_id ?? entity.application?.id) === id)
    return dependents.length === 0
      ? []
      : [`${subject(dependents, noun, 'act')} as it: ${quotedNames(dependents)}.`]
  }
  return [
    keys.length === 0 ? 'It has no key.' : `${subject(keys, 'key', 'stop')} working at once.`,
    ...(open.length === 0 ? [] : [`${subject(open, 'open session', 'end')}.`]),
    ...acting('proxy', proxies),
    ...acting('reactor', reactors),
    ...(truncatedKinds.length === 0
      ? []
      : [`Only the newest ${LOOKED} ${truncatedKinds.sort().join(', ')} were looked through.`]),
  ]
}
