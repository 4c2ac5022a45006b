import { bumpChange } from './records/statements.ts'
import type { Session } from './session.ts'

/** A write like any other, to disk; no collection can have this name. */
export const touchHealth = async (session: Session): Promise<void> => {
  await session.run(bumpChange, { kind: '#health' })
}
