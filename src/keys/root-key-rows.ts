import type { KeyRow } from '../store/keys/types.ts'
import { createWrapper, rootIdOf, type Wrapper } from './wrap.ts'

/** During a root key rotation the store contains each root key wrapped by the other, so either one gives both. */
export const NEXT_ROOT = 'root-next'
export const PREVIOUS_ROOT = 'root-previous'
/** The root key, wrapped by a key management service. */
export const WRAPPED_ROOT = 'root-wrapped'
/** Marks a tenant whose values are being reencrypted. Contains no key. */
export const REENCRYPTING = 'reseal'
/** Marks the highest version of the data key that must not seal any more. Contains no key. */
export const CLOSED = 'data-closed'

/** Certificate (DER) of the key of this version of the forward proxy's authority. Contains no key. */
export const FORWARD_CA_CERTIFICATE = 'forward-ca-certificate'

/** Purposes of rows that are not rewrapped by a root key rotation. */
export const NOT_REWRAPPED: readonly string[] = [
  NEXT_ROOT,
  PREVIOUS_ROOT,
  WRAPPED_ROOT,
  REENCRYPTING,
  CLOSED,
  FORWARD_CA_CERTIFICATE,
]

/** The root keys known to a process: one, or both during a rotation. */
export interface Roots {
  /** Wraps new keys. */
  readonly current: Wrapper
  /** True if the row names a known root key: if it cannot be unwrapped, it was modified. */
  knows(row: KeyRow): boolean
  unwrap(row: KeyRow): Buffer | undefined
}

const isService = (row: KeyRow, purpose: string) => row.tenant_id === '' && row.purpose === purpose

/**
 * The root keys that `known` and the service's rows give. During a rotation these are both keys, and the next one is
 * current; otherwise only the key that the store uses.
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
