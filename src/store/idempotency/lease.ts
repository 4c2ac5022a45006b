import { AsyncLocalStorage } from 'node:async_hooks'
import { own } from '../tokens/token-row.ts'
import type { CommandName } from '../write-commands.ts'
import type { Writer } from '../writer.ts'
import type { IdempotencyLease } from './types.ts'

/** What callers ask for. All else is the service's own: upkeep, records of the audit, keys, and these rights themselves. */
const EFFECTS: ReadonlySet<CommandName> = new Set([
  'tokens.create',
  'tokens.update',
  'tokens.delete',
  'tokens.associate',
  'tokens.dissociate',
  'records.commit',
  'tenants.create',
  'tenants.update',
  'tenants.delete',
])

/** What outlives the call that began it is not the call's. */
interface Running {
  lease: IdempotencyLease | undefined
}

const running = new AsyncLocalStorage<Running>()

/** `AnswerStore.during`: the right goes with the asynchronous context, so that no operation can forget to pass it on. */
export const runWithLease = async <T>(lease: IdempotencyLease, work: () => Promise<T>): Promise<T> => {
  const here: Running = { lease: { ...lease, key: own(lease.key) } }
  try {
    return await running.run(here, work)
  } finally {
    here.lease = undefined
  }
}

/** Hands the right under which a call runs to whatever it writes. */
export const withLease = (writer: Writer): Writer => ({
  write: (command, args, bytes, lease) =>
    writer.write(
      command,
      args,
      bytes,
      lease ?? (EFFECTS.has(command) ? running.getStore()?.lease : undefined),
    ),
  close: () => writer.close(),
})
