import type { Api } from '../api/client.ts'
import type { Application } from '../api/types.ts'
import { may } from '../session.ts'
import { signal } from './signals.ts'

/** Ids of one call. */
const MOST = 50

/**
 * Names of applications by id, for views: undefined until they are known, and where the keys may not read applications.
 * Asks for all ids of one rendering at once.
 */
export const createNames = (api: Api, within: AbortSignal): ((id: string) => string | undefined) => {
  const names = signal<ReadonlyMap<string, string>>(new Map())
  const asked = new Set<string>()
  let wanted: string[] = []
  const load = async () => {
    const id = wanted.slice(0, MOST)
    wanted = wanted.slice(MOST)
    if (wanted.length > 0) queueMicrotask(load)
    const query = { id, size: MOST }
    const { data } = await api
      .call<{ data: readonly Application[] }>('GET', '/applications', { query, signal: within })
      .catch(() => ({ data: [] }))
    names.value = new Map([...names.peek(), ...data.map(({ id, name }) => [id, name] as const)])
  }
  return (id) => {
    if (!asked.has(id) && may('application:read')) {
      asked.add(id)
      if (wanted.push(id) === 1) queueMicrotask(load)
    }
    return names.value.get(id)
  }
}
