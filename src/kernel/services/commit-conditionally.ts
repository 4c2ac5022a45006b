import { checkVersion, isConditional, noteWritten } from '../../common/conditional-call.ts'
import { isConflict } from '../../common/retry-on-conflict.ts'
import type { Mutation } from '../../sdk/index.ts'
import type { RecordStore } from '../../store/records/types.ts'

/** The store gives a new record the version 1, and each change the next one. */
const noteCommitted = (mutations: readonly Mutation[]): void => {
  for (const { kind, id, version } of mutations) {
    if (kind === 'insert') noteWritten(id, '1')
    if (kind === 'replace' && version !== undefined) noteWritten(id, String(version + 1))
  }
}

/**
 * Commits changes, and notes the versions that they make. In a conditional call, its record is changed only at a
 * version that the call may write over; the commit is bound to it. Else rejects with `precondition_failed`.
 */
export const commitConditionally = async (
  store: Pick<RecordStore, 'get'>,
  mutations: readonly Mutation[],
  write: (mutations: readonly Mutation[]) => Promise<void>,
): Promise<void> => {
  const commit = async (all: readonly Mutation[]) => {
    await write(all)
    noteCommitted(all)
  }
  // Later changes of the record in the same commit follow the first one.
  const target = mutations.find(({ kind, id }) => kind !== 'insert' && isConditional(id))
  if (target === undefined) return commit(mutations)
  const { collection, tenantId, id } = target
  const current = async () => (await store.get(collection, tenantId, id))?.version
  const version = target.version ?? (await current())
  if (version === undefined) return commit(mutations)
  checkVersion(id, String(version))
  try {
    await commit(mutations.map((mutation) => (mutation === target ? { ...mutation, version } : mutation)))
  } catch (thrown) {
    const changed = isConflict(thrown) ? await current() : undefined
    if (changed !== undefined) checkVersion(id, String(changed))
    throw thrown
  }
}
