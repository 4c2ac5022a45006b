import type { ApiError } from '../../api/problem.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { type Resource, show } from '../../kit/resource.ts'
import { exactTime } from '../../kit/time.ts'

/** A value with the time when it was loaded, in ms. */
interface Loaded {
  readonly at: number
}

export interface Outage {
  readonly error: ApiError
  /** When what the page shows was loaded, the oldest of it, in ms. */
  readonly at: number
}

/** The outage in which values are not refreshed; undefined while all are, or nothing is loaded. */
export const outageOf = (sources: readonly Resource<Loaded>[]): Outage | undefined => {
  const stale = sources.flatMap(({ state: { value: state } }) =>
    state.kind === 'ready' && state.problem !== undefined
      ? [{ error: state.problem, at: state.value.at }]
      : [],
  )
  const [first] = stale
  return first && { error: first.error, at: Math.min(...stale.map(({ at }) => at)) }
}

/** What does not work, and how old the page is. It changes only with the outage: it is read out. */
export const outageNotice = ({ error: { status, title, detail }, at }: Outage): TemplateResult =>
  html`<div class="readiness bad" role="alert">
    <p><strong>${status === 0 || status >= 500 ? 'The service does not respond' : title}</strong> ${detail}</p>
    <p class="soft">This page is as of ${exactTime(at)}. It refreshes by itself.</p>
  </div>`

/** The value by `view`, also in an outage, which the page shows once. */
export const showLatest = <T>(source: Resource<T>, view: (value: T) => TemplateResult): TemplateResult =>
  source.value.value === undefined ? show(source, view) : view(source.value.value)
