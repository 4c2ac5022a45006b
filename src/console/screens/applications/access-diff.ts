import type { Api } from '../../api/client.ts'
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
