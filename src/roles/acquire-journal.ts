import type { ChainError } from '../audit/chain-reader.ts'
import { type JournalDeps, type OwnJournal, openJournal } from '../audit/journal.ts'
import { alreadyWritten } from '../audit/journal-lock.ts'
import { locatePosition } from '../audit/locate-position.ts'
import { withRetainedFiles } from '../audit/retention-lock.ts'
import type { Journal } from '../audit/types.ts'
import { AppError } from '../common/errors.ts'
import type { Config } from '../config.ts'
import type { Store } from '../store/store.ts'
import { journalDirectory, journalName } from './replica.ts'

/** Only machines that share a database have ids. */
const copied = ({ postgres }: Config): string =>
  postgres === undefined
    ? ''
    : ' If this data directory is a copy of one on another machine, remove "replica-id" and the folder "audit" from it, and start again.'

const alreadyOpen = (config: Config, name: string): AppError =>
  alreadyWritten(
    name,
    `Another live process of this store writes the audit journal "${name}", so this one discloses nothing. Stop one of them.${copied(config)}`,
  )

const diverged = (config: Config, name: string, { reason, file }: ChainError): AppError =>
  new AppError(
    'gateway_timeout',
    `The audit journal "${name}" does not match the store (${file}: ${reason}). Run "sidevault audit verify", and restore its files. If that is impossible, "sidevault audit acknowledge-loss --journal ${name}" continues without them.${copied(config)}`,
  )

/**
 * Opens the journal of a process for exclusive writing: no other process on this machine, or with the same journal name
 * on another machine of the store, writes it or has written it. Otherwise rejects with `gateway_timeout` and the
 * remedy. If another process acquires the name while the store is unreachable, the journal stops.
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
    lost = alreadyOpen(config, name)
    opened?.stop(lost)
  }
  const lock = await store.acquireLock(`journal ${name}`, { onLocked, ...options })
  if (lock === undefined) throw alreadyOpen(config, name)
  try {
    const journal = await withRetainedFiles(directory, async () => {
      const position = await locatePosition({ logs: store.logs, mac: deps.mac }, directory, name)
      if ('reason' in position) throw diverged(config, name, position)
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
