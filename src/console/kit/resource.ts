import { type ApiError, asApiError } from '../api/problem.ts'
import { html, nothing, type TemplateResult } from './html.ts'
import { problem } from './problem.ts'
import { batch, effect, type ReadonlySignal, signal, untracked } from './signals.ts'

/** ms after which a page says that it waits. */
const SLOW_MS = 1_000

type State<T> =
  | { readonly kind: 'loading' | 'slow' }
  /** `problem`: of the last `refresh`, which failed; the value is an older one. */
  | { readonly kind: 'ready'; readonly value: T; readonly problem?: ApiError | undefined }
  | { readonly kind: 'error'; readonly error: ApiError }

/** A value that is loaded, with the state of its load. */
export interface Resource<T> {
  readonly state: ReadonlySignal<State<T>>
  /** The value that was loaded last. It stays during the next load. */
  readonly value: ReadonlySignal<T | undefined>
  /** True while a load runs. */
  readonly busy: ReadonlySignal<boolean>
  /** Loads again. The value stays until then; an error replaces it. */
  reload(): void
  /** Loads again, as polls do: the value stays despite an error. No-op while a load runs. */
  refresh(): void
}

/**
 * Loads at once, and again whenever a signal changes that `load` read before its first `await`. A newer load aborts the
 * older one; `within` ends all. `background`: this is a `refresh`.
 */
export const resource = <T>(
  load: (signal: AbortSignal, background: boolean) => Promise<T>,
  within: AbortSignal,
): Resource<T> => {
  const state = signal<State<T>>({ kind: 'loading' })
  const value = signal<T | undefined>(undefined)
  const busy = signal(false)
  const round = signal({ keep: false })
  let current = new AbortController()

  const finish = (own: AbortController, next: State<T>) => {
    if (own !== current || within.aborted) return
    batch(() => {
      busy.value = false
      state.value = next
      if (next.kind === 'ready') value.value = next.value
      if (next.kind === 'error') value.value = undefined
    })
  }

  const run = (loaded: Promise<T>, own: AbortController, keep: boolean) => {
    const before = state.peek()
    busy.value = true
    if (before.kind !== 'ready') state.value = { kind: 'loading' }
    const slow = setTimeout(() => {
      if (own === current && state.peek().kind === 'loading') state.value = { kind: 'slow' }
    }, SLOW_MS)
    void loaded
      .then(
        (value) => finish(own, { kind: 'ready', value }),
        (thrown: unknown) => {
          const error = asApiError(thrown)
          finish(
            own,
            keep && before.kind === 'ready' ? { ...before, problem: error } : { kind: 'error', error },
          )
        },
      )
      .finally(() => clearTimeout(slow))
  }

  const dispose = effect(() => {
    const { keep } = round.value
    const own = new AbortController()
    untracked(() => {
      current.abort()
      current = own
    })
    const loaded = Promise.resolve(load(AbortSignal.any([own.signal, within]), keep))
    untracked(() => run(loaded, own, keep))
  })
  within.addEventListener('abort', () => {
    dispose()
    current.abort()
  })
  return {
    state,
    value,
    busy,
    reload: () => {
      round.value = { keep: false }
    },
    refresh: () => {
      if (!busy.peek()) round.value = { keep: true }
    },
  }
}

/** The value by `view`, or how far it is: loading, slow, an error with Retry. `empty` is shown for an empty array. */
export const show = <T>(
  source: Resource<T>,
  view: (value: T) => TemplateResult,
  { empty }: { readonly empty?: TemplateResult | string } = {},
): TemplateResult => {
  const state = source.state.value
  if (state.kind === 'error') return problem(state.error, source.reload)
  if (state.kind !== 'ready')
    return html`<div class="loading" aria-busy="true">
      <span class="skeleton"></span><span class="skeleton"></span><span class="skeleton"></span>
      ${state.kind === 'slow' ? html`<p class="soft" role="status">This takes longer than usual …</p>` : nothing}
    </div>`
  const isEmpty = empty !== undefined && Array.isArray(state.value) && state.value.length === 0
  return html`<div class="loaded" aria-busy=${String(source.busy.value)}>
    ${state.problem === undefined ? nothing : html`<p class="stale" role="status">Not up to date: ${state.problem.detail}</p>`}
    ${isEmpty ? html`<div class="empty">${empty}</div>` : view(state.value)}
  </div>`
}
