import { createAnswerStore } from './answers/repository.ts'
import { createChanges, shareChanges } from './changes.ts'
import { createLogStore } from './logs/repository.ts'
import { createRecordStore } from './records/repository.ts'
import { createSealedStore } from './sealed/repository.ts'
import type { Session, Writer } from './session.ts'
import { createKeyStore, createTenantStore } from './tenants/repository.ts'
import { createTokenStore } from './tokens/repository.ts'
import type { Store } from './types.ts'
import { createUsageStore } from './usage/repository.ts'

/** The repositories over one engine's session and writer. */
export const assembleStore = (
  given: { readonly session: Session; readonly writer: Writer },
  { writable, close }: { readonly writable: boolean; readonly close: () => Promise<void> },
): Store => {
  const deps = writable ? { ...given, ...shareChanges(given) } : { ...given, changes: createChanges(given) }
  const records = createRecordStore(deps)
  return {
    engine: deps.session.dialect.engine,
    tokens: createTokenStore(deps),
    records,
    tenants: createTenantStore(deps),
    keys: createKeyStore(deps),
    sealed: createSealedStore(deps),
    logs: createLogStore(deps),
    usage: createUsageStore(deps),
    answers: createAnswerStore(deps),
    leftovers: { purge: (now, limit) => deps.writer.write('leftovers.purge', { now, limit }) },
    health: async () => {
      await records.changes(['#health'])
      if (writable) await deps.writer.write('health.touch', {})
    },
    close,
  }
}
