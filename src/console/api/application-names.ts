import type { ListResponse } from '../kit/list.ts'
import { effect, type ReadonlySignal, signal } from '../kit/signals.ts'
import type { Api } from './client.ts'

/** Ids of one call. */
const MAX_IDS = 100

/**
 * Names of applications by id, for lists that have ids only. Loads the ids that `ids` reads from signals; an
 * application that was deleted has none. Without the permission to read applications there are no names.
 */
export const applicationNames = (
  api: Api,
  ids: () => readonly string[],
  { isAllowed, within }: { readonly isAllowed: boolean; readonly within: AbortSignal },
): ReadonlySignal<ReadonlyMap<string, string>> => {
  const names = signal<ReadonlyMap<string, string>>(new Map())
  const requestedIds = new Set<string>()
  if (!isAllowed) return names
  const dispose = effect(() => {
    const missing = [...new Set(ids())].filter((id) => !requestedIds.has(id)).slice(0, MAX_IDS)
    if (missing.length === 0) return
    for (const id of missing) requestedIds.add(id)
    api
      .call<ListResponse<{ readonly id: string; readonly name: string }>>('GET', '/applications', {
        query: { id: missing, size: MAX_IDS },
        signal: within,
      })
      .then(
        ({ data }) => {
          names.value = new Map([...names.peek(), ...data.map(({ id, name }) => [id, name] as const)])
        },
        () => {}, // the ids are shown instead
      )
  })
  within.addEventListener('abort', dispose)
  return names
}
