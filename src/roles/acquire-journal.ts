import type { ChainError } from '../audit/chain-reader.ts'
import { type JournalDeps, type OwnJournal, openJournal } from '../audit/journal.ts'
import { resume } from '../audit/locate-position.ts'
import { withRetainedFiles } from '../audit/retention-lock.ts'
import type { Journal } from '../audit/types.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import type { Store } from '../store/types.ts'
import { journalDirectory, journalName } from './replica.ts'

const COPIED =
  'If this data directory is a copy of another machine\'s, remove "replica-id" and the folder "audit" from it, and start again.'

const alreadyOpen = (name: string): AppError =>
  new AppError(
    'gateway_timeout',
    `Another live process of this store writes the audit journal "${name}", so nothing is disclosed here. Stop it, or this one. ${COPIED}`,
  )

const diverged = (name: string, { reason, file }: ChainError): AppError =>
  new AppError(
    'gateway_timeout',
    `The audit journal "${name}" is not the one that the store knows (${file}: ${reason}). Run "sidevault audit verify", and restore its files; if that cannot be done, "sidevault audit acknowledge-loss --journal ${name}" goes on without them. ${COPIED}`,
  )

/**
 * Opens the journal of a process of this machine, which nobody else writes: neither here nor, where machines share a
 * store, under the same name elsewhere, now or in the past. Rejects with `gateway_timeout`, with the remedy, when somebody does
 * or did. Whoever finds later that its name was taken, while it could not reach the store, writes no more.
 */
export const acquireJournal = async (
  { store, ...deps }: JournalDeps & { readonly store: Store },
  config: Config,
  { process, ...options }: { readonly process: string; readonly sync: boolean; readonly timeout?: number },
): Promise<Journal> => {
  const directory = journalDirectory(config)
  const name = await journalName(config, process)
  let opened: OwnJournal | undefined
  let lost: AppError | undefined
  const onLocked = () => {
    lost = alreadyOpen(name)
    opened?.stop(lost)
  }
  const lock = await store.acquireLock(`journal ${name}`, { onLocked, ...options })
  if (lock === undefined) throw alreadyOpen(name)
  try {
    const journal = await withRetainedFiles(directory, async () => {
      const found = await resume({ logs: store.logs, mac: deps.mac }, directory, name)
      if ('reason' in found) throw diverged(name, found)
      return openJournal(deps, { directory, name, ...options })
    })
    opened = journal
    if (lost) journal.stop(lost)
    return {
      append: (records) => journal.append(records),
      health: () => journal.health(),
      close: async () => {
        await journal.close()
        await lock.release()
      },
    }
  } catch (thrown) {
    await lock.release()
    throw thrown
  }
}
