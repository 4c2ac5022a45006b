import type { KeyRow } from '../store/types.ts'
import { createWrapper, rootIdOf, type Wrapper } from './wrap.ts'

/** While the root key is changed, each of both lies in the store under the other: whoever has one, has both. */
export const NEXT_ROOT = 'root-next'
export const PREVIOUS_ROOT = 'root-previous'
/** The root key under a key management service; holds no key that another one wraps. */
export const WRAPPED_ROOT = 'root-wrapped'
/** Marks a tenant whose values are being sealed anew; holds no key. */
export const REENCRYPTING = 'reseal'
/** As the store names the row up to whose version data keys seal nothing any more; holds no key. */
export const CLOSED = 'data-closed'

/** Purposes of rows that are not wrapped anew when the root key changes. */
export const NOT_REWRAPPED: readonly string[] = [NEXT_ROOT, PREVIOUS_ROOT, WRAPPED_ROOT, REENCRYPTING, CLOSED]

/** The root keys that a process knows: one, or both while it is changed. */
export interface Roots {
  /** What new keys are wrapped with. */
  readonly current: Wrapper
  /** True when a row names a root key that is known, so that a failure to open it means that it was altered. */
  knows(row: KeyRow): boolean
  unwrap(row: KeyRow): Buffer | undefined
}

const isService = (row: KeyRow, purpose: string) => row.tenant_id === '' && row.purpose === purpose

/**
 * The root keys that can be had from `known` and the service's own rows. During a change both are, and the next one is
 * current; after it, what is not the store's any more is dropped.
 */
export const rootsFrom = (known: readonly Wrapper[], rows: readonly KeyRow[]): Roots => {
  const wrappers = new Map(known.map((wrapper) => [wrapper.id, wrapper]))
  for (const row of rows) {
    if (!isService(row, NEXT_ROOT) && !isService(row, PREVIOUS_ROOT)) continue
    const other = wrappers.get(rootIdOf(row) ?? '')?.unwrap(row)
    if (other === undefined) continue
    const wrapper = createWrapper(other)
    other.fill(0)
    wrappers.set(wrapper.id, wrapper)
  }
  const named = (purpose: string) => {
    const row = rows.find((candidate) => isService(candidate, purpose))
    return row && wrappers.get(rootIdOf(row) ?? '')
  }
  const next = named(PREVIOUS_ROOT)
  const current = next ?? named('check')
  const changing = rows.some((row) => isService(row, PREVIOUS_ROOT))
  const retained = changing || current === undefined ? wrappers : new Map([[current.id, current]])
  const of = (row: KeyRow) => retained.get(rootIdOf(row) ?? '')
  return {
    current: current ?? known[0]!,
    knows: (row) => of(row) !== undefined,
    unwrap: (row) => of(row)?.unwrap(row),
  }
}
