import { bumpChange } from './changes.ts'
import { defineCommand } from './command.ts'
import type { Session } from './session.ts'

/** A durable write for health checks. */
export const probeWrite = defineCommand({
  name: 'health.touch',
  run: async (session: Session, _: Record<string, never>): Promise<void> => {
    // No collection can have this name.
    await session.run(bumpChange, { kind: '#health' })
  },
  tenantOf: () => undefined,
  scope: 'tenant',
  isEffect: false,
  isMaintenance: false,
  movesCounters: false,
  destroysKeys: false,
})
