import type { Api } from '../../api/client.ts'
import type { RequestEntry } from '../../api/types.ts'
import type { ListResponse } from '../../kit/list.ts'
import { type Resource, resource } from '../../kit/resource.ts'
import { type ReadonlySignal, signal } from '../../kit/signals.ts'
import { appendOlderPage, type Calls, mergeNewerPage } from './call-pages.ts'

/** Calls of a page, and calls of a page that a poll reads. */
const PAGE = 1_000
const POLLED = 200
/** Pages that a poll reads until it finds a call that is known. */
const POLL_PAGES = 5

const NONE: Calls = { entries: [], next: undefined }

interface LoadedCalls extends Resource<Calls> {
  /** Loads another page of older calls. */
  more(): void
  readonly pages: ReadonlySignal<number>
}

/** Retained when a screen is left, so that another continues. A page belongs to one session. */
let retained = NONE

/** The newest calls of this node: `pages` of 1,000 at first; `refresh` adds new ones. */
export const loadCalls = (api: Api, within: AbortSignal, pages = 1): LoadedCalls => {
  const pageCount = signal(Math.max(pages, Math.ceil(retained.entries.length / PAGE)))

  const read = async (signal: AbortSignal, size: number, start: string | undefined): Promise<Calls> => {
    const { data, pagination } = await api.call<ListResponse<RequestEntry>>('GET', '/requests', {
      query: { size, start },
      signal,
      background: true,
    })
    return { entries: data, next: pagination.next }
  }

  const newer = async (calls: Calls, signal: AbortSignal): Promise<Calls> => {
    let page = await read(signal, POLLED, undefined)
    let merged = mergeNewerPage(calls, page)
    for (let pages = 1; !merged.isJoined && pages < POLL_PAGES; pages++) {
      page = appendOlderPage(page, await read(signal, POLLED, page.next))
      merged = mergeNewerPage(calls, page)
    }
    return merged.calls
  }

  const loaded = resource(async (signal) => {
    const count = pageCount.value * PAGE
    let calls =
      retained.entries.length === 0 ? await read(signal, PAGE, undefined) : await newer(retained, signal)
    while (calls.next !== undefined && calls.entries.length < count)
      calls = appendOlderPage(calls, await read(signal, PAGE, calls.next))
    retained = calls
    return calls
  }, within)

  return {
    ...loaded,
    pages: pageCount,
    more: () => {
      pageCount.value = Math.ceil(retained.entries.length / PAGE) + 1
    },
  }
}
