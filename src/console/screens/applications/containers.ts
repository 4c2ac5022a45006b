import type { Api } from '../../api/client.ts'
import type { Application } from '../../api/types.ts'
import type { ListResponse } from '../../kit/list.ts'
import type { Diff } from './types.ts'

/** Suggestions of a field. */
const MAX_CONTAINERS = 300

/** `/a/b/` → `/`, `/a/`, `/a/b/`. */
const withParents = (container: string): readonly string[] =>
  container
    .split('/')
    .slice(0, -1)
    .map((_, index, parts) => `${parts.slice(0, index + 1).join('/')}/`)

/** Containers, their parents and all of them (`/`), each once. */
const suggestionsOf = (containers: readonly string[]): readonly string[] =>
  [...new Set(['/', ...containers.flatMap(withParents)])].sort().slice(0, MAX_CONTAINERS)

/**
 * Containers that tokens lie in: the API has no list of them, but a comparison with grants that no application has, one
 * permission everywhere without a value, has a line for each. `id`: any application that is not of management.
 */
const containersBy = async (api: Api, id: string, signal: AbortSignal): Promise<readonly string[]> => {
  const rule = {
    description: 'all',
    priority: 1,
    container: '/',
    transform: 'redact',
    permissions: ['token:update'],
  }
  const { data } = await api.call<Diff>('POST', '/access/diff', {
    body: { application: { id }, permissions: [], rules: [rule] },
    signal,
  })
  return data.map(({ container }) => container)
}

/** Containers that may be meant: of the application's rules and, by a comparison, of stored tokens. */
export const suggestContainers = async (
  api: Api,
  application: Application | undefined,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const asked =
    application ??
    (
      await api.call<ListResponse<Application>>('GET', '/applications', {
        query: { type: 'private', size: 1 },
        signal,
      })
    ).data[0]
  const own = application?.rules.map(({ container }) => container) ?? []
  return suggestionsOf(asked === undefined ? own : [...own, ...(await containersBy(api, asked.id, signal))])
}
