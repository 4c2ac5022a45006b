import { bumpChange } from './changes.ts'
import type { Session } from './session.ts'

/** A durable write for health checks. No collection can have this name. */
export const probeWrite = async (session: Session): Promise<void> => {
  await session.run(bumpChange, { kind: '#health' })
}
