import type { Command } from './command.ts'
import { requireLease } from './idempotency/require-lease.ts'
import type { IdempotencyLease } from './lease.ts'
import type { Session } from './session.ts'

/** Runs a command; with a `lease`, under it (`IdempotencyStore.runWithLease`). */
export const runCommand = async <A extends object, R>(
  session: Session,
  command: Command<A, R>,
  args: A,
  lease?: IdempotencyLease,
): Promise<R> => {
  const result = await command.run(session, args)
  if (lease !== undefined) await requireLease(session, lease)
  return result
}
