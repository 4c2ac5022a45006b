import type { Api } from '../../api/client.ts'
import type { Application } from '../../api/types.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { type Resource, resource } from '../../kit/resource.ts'
import { effect, type ReadonlySignal, signal } from '../../kit/signals.ts'
import type { DraftBody } from './draft.ts'
import type { Diff } from './types.ts'

/** ms without another change before a draft is compared. */
const QUIET_MS = 350

/** Compares a draft with the stored application. The API responds with 400 for rules that it would not store. */
export const compare = (
  api: Api,
  id: string,
  { permissions, rules }: DraftBody,
  signal: AbortSignal,
): Promise<Diff> =>
  api.call('POST', '/access/diff', { body: { application: { id }, permissions, rules }, signal })

/**
 * Compares a draft each time that it has not changed for a moment; a newer draft cancels the comparison of an older
 * one.
 * `draft` is undefined while nothing was changed.
 */
export const liveDifference = (
  api: Api,
  id: string,
  draft: ReadonlySignal<DraftBody | undefined>,
  within: AbortSignal,
): Resource<Diff> & { readonly waiting: ReadonlySignal<boolean> } => {
  const quiet = signal(draft.peek())
  const waiting = signal(false)
  let timer: ReturnType<typeof setTimeout> | undefined
  const dispose = effect(() => {
    const next = draft.value
    clearTimeout(timer)
    if (JSON.stringify(next) === JSON.stringify(quiet.peek())) {
      waiting.value = false
      return
    }
    waiting.value = true
    timer = setTimeout(() => {
      quiet.value = next
      waiting.value = false
    }, QUIET_MS)
  })
  within.addEventListener('abort', () => {
    clearTimeout(timer)
    dispose()
  })
  const difference = resource(
    async (signal) => (quiet.value === undefined ? { data: [] } : compare(api, id, quiet.value, signal)),
    within,
  )
  return { ...difference, waiting }
}

/** Suggestions of a field. */
const MAX_CONTAINERS = 300

/** `/a/b/` → `/`, `/a/`, `/a/b/`. */
const withParents = (container: string): readonly string[] =>
  container
    .split('/')
    .slice(0, -1)
    .map((_, index, parts) => `${parts.slice(0, index + 1).join('/')}/`)

/** Containers, their parents and all of them (`/`), each once. */
export const suggestionsOf = (containers: readonly string[]): readonly string[] =>
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

const suggest = async (
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

/**
 * Suggestions for containers. They are loaded when a field that has them gets the focus (`onFocus`), since the
 * comparison counts tokens; an error leaves the field without.
 * `list` is the last element of the form.
 */
export const containerSuggestions = (
  api: Api,
  application: Application | undefined,
  within: AbortSignal,
): { readonly list: () => TemplateResult; readonly onFocus: (event: Event) => void } => {
  const isWanted = signal(false)
  const suggestions = resource(
    async (abort) => (isWanted.value ? suggest(api, application, abort) : []),
    within,
  )
  return {
    list: () => html`<datalist id="containers">
      ${(suggestions.value.value ?? []).map((container) => html`<option value=${container}></option>`)}
    </datalist>`,
    onFocus: ({ target }) => {
      if (target instanceof HTMLInputElement && target.list !== null) isWanted.value = true
    },
  }
}
