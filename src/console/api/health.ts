import { consoleHeader } from './client.ts'
import { problemOf } from './problem.ts'

/** A component, as `/readyz` reports it. */
export interface Component {
  readonly name: string
  readonly status: 'ok' | 'degraded' | 'failed'
  /** Features that are not available. */
  readonly missing?: readonly string[]
  /** Start of a state that is not `ok`. */
  readonly since?: string
  /** A sentence of a plugin about a state that is not `ok`. */
  readonly detail?: string
  /** Last run of a consumer or job, ISO 8601; absent before the first. */
  readonly last_run?: string
  readonly outcome?: string
  readonly duration_ms?: number
  /** Age of the oldest record that a consumer has not handled. */
  readonly lag_seconds?: number
}

export interface Health {
  /** `failed`: the service is not ready. */
  readonly status: 'ok' | 'degraded' | 'failed'
  readonly components: readonly Component[]
}

/** Components of the node that serves this page. */
export const loadHealth = async (signal: AbortSignal): Promise<Health> => {
  const response = await fetch('/console/api/readyz', {
    signal,
    cache: 'no-store',
    headers: consoleHeader(true),
  })
  const body = (await response
    .clone()
    .json()
    .catch(() => undefined)) as
    | { readonly status?: unknown; readonly components?: readonly Component[] }
    | undefined
  if (body?.components === undefined) throw await problemOf(response)
  return {
    status: response.ok ? (body.status === 'ok' ? 'ok' : 'degraded') : 'failed',
    components: body.components,
  }
}
