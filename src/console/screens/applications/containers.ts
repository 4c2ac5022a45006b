import type { Api } from '../../api/client.ts'
import type { Application } from '../../api/types.ts'
import type { ListResponse } from '../../kit/list.ts'
import type { Diff } from './types.ts'

/** Suggestions of a field. */
const MAX_CONTAINERS = 300

/** Grants that no application has: one permission everywhere, without a value. */
const PROBE = {
  description: 'all',
  priority: 1,
  container: '/',
  transform: 'redact',
  permissions: ['token:update'],
}

/** `/a/b/` → `/`, `/a/`, `/a/b/`. */
const withParents = (container: string): readonly string[] =>
  [...container.matchAll(/\//g)].map(({ index }) => container.slice(0, index + 1))

/**
 * Containers that may be meant, with their parents: of the application's rules, and of stored tokens. The API has no
 * list of those, but a comparison of `PROBE` with any application that is not of management has a line for each.
 */
export const suggestContainers = async (
  api: Api,
  application: Application | undefined,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const query = { type: 'private', size: 1 }
  const compared =
    application ??
    (await api.call<ListResponse<Application>>('GET', '/applications', { query, signal })).data[0]
  if (compared === undefined) return ['/']
  const body = { application: { id: compared.id }, permissions: [], rules: [PROBE] }
  const { data } = await api.call<Diff>('POST', '/access/diff', { body, signal })
  const containers = [...(application?.rules ?? []), ...data].flatMap(({ container }) =>
    withParents(container),
  )
  return [...new Set(['/', ...containers])].sort().slice(0, MAX_CONTAINERS)
}
