import type { Api } from '../../api/client.ts'
import type { RequestEntry } from '../../api/types.ts'
import type { ListResponse } from '../../kit/list.ts'
import { type Resource, resource } from '../../kit/resource.ts'
import { appendOlderPage, type Calls, mergeNewerPage } from './call-pages.ts'

/** Calls of a page, and how many of them are loaded; calls of a page that a refresh reads. */
const PAGE = 1_000
const MAX_CALLS = 3_000
const POLLED = 200
/** Pages that a refresh reads until it finds a call that is known. */
const POLL_PAGES = 5

/** Calls with the time when they were loaded, in ms. */
export type LoadedCalls = Calls & { readonly at: number }

/** Retained when the screen is left. A page belongs to one session. */
let retained: Calls = { entries: [], next: undefined }

/** The newest 3,000 calls of this node, without the console's own; `refresh` adds new ones. */
export const loadCalls = (api: Api, within: AbortSignal): Resource<LoadedCalls> => {
  const read = async (signal: AbortSignal, size: number, start?: string): Promise<Calls> => {
    const { data, pagination } = await api.call<ListResponse<RequestEntry>>('GET', '/requests', {
      query: { size, start },
      signal,
      background: true,
    })
    return { entries: data, next: pagination.next }
  }

  const newer = async (signal: AbortSignal): Promise<Calls> => {
    let page = await read(signal, POLLED)
    let merged = mergeNewerPage(retained, page)
    for (let pages = 1; !merged.isJoined && pages < POLL_PAGES; pages++) {
      page = appendOlderPage(page, await read(signal, POLLED, page.next))
      merged = mergeNewerPage(retained, page)
    }
    return merged.calls
  }

  return resource(async (signal) => {
    let calls = retained.entries.length === 0 ? await read(signal, PAGE) : await newer(signal)
    while (calls.next !== undefined && calls.entries.length < MAX_CALLS)
      calls = appendOlderPage(calls, await read(signal, PAGE, calls.next))
    retained = calls
    return { ...calls, at: Date.now() }
  }, within)
}
