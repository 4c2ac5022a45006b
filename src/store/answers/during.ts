import { AsyncLocalStorage } from 'node:async_hooks'
import type { CommandName } from '../commands/registry.ts'
import { own } from '../tokens/row.ts'
import type { Writer } from '../writer.ts'
import type { AnswerRight } from './types.ts'

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
  right: AnswerRight | undefined
}

const running = new AsyncLocalStorage<Running>()

/** `AnswerStore.during`: the right goes with the asynchronous context, so that no operation can forget to pass it on. */
export const duringRight = async <T>(right: AnswerRight, work: () => Promise<T>): Promise<T> => {
  const here: Running = { right: { ...right, key: own(right.key) } }
  try {
    return await running.run(here, work)
  } finally {
    here.right = undefined
  }
}

/** Hands the right under which a call runs to whatever it writes. */
export const underRights = (writer: Writer): Writer => ({
  write: (command, args, bytes, right) =>
    writer.write(
      command,
      args,
      bytes,
      right ?? (EFFECTS.has(command) ? running.getStore()?.right : undefined),
    ),
  close: () => writer.close(),
})
