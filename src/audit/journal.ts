import { accessSync, closeSync, constants, fdatasync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { AppError } from '../common/errors.ts'
import type { Log } from '../common/log.ts'
import { lockJournal } from './journal-lock.ts'
import { LineDrafts, type Mac, writeLine } from './line.ts'
import type { RecentLinesCache } from './recent-lines-cache.ts'
import { type Recovered, recover } from './recover.ts'
import { JOURNAL_NAME } from './segments.ts'
import type { AuditRecord, Journal } from './types.ts'

const SEGMENT_BYTES = 64 * 2 ** 20

/** Records encoded and written in one turn of the event loop: a few milliseconds. */
const AT_ONCE = 500

const sync = promisify(fdatasync)

export interface JournalDeps {
  /** Keyed digest of the chain: `keys.mac('audit', …)`. */
  readonly mac: Mac
  readonly log: Log
  /** Receives every line that may be in the journal, for the ingest of this process. */
  readonly own?: RecentLinesCache
}

interface JournalOptions {
  readonly directory: string
  /** Name of the process; one live writer each. `[a-z0-9_-]`, at most 50 characters. */
  readonly name: string
  /** Acknowledge once the records are on disk (survive power loss), not once the kernel has them. Default false. */
  readonly sync?: boolean
  /** A new file is started when the current one would exceed this size. Default 64 MiB. */
  readonly segmentBytes?: number
}

/** A pending `append`. */
interface Call {
  readonly records: readonly AuditRecord[]
  resolve(): void
  reject(error: AppError): void
}

const cannotWrite = (name: string, cause: unknown): AppError =>
  cause instanceof AppError
    ? cause
    : new AppError(
        'gateway_timeout',
        `The audit journal "${name}" cannot be written, so nothing is disclosed. Check the disk space and permissions of the data directory.`,
        { cause },
      )

/** Journal of this process. */
export interface OwnJournal extends Journal {
  /** Stops all writes, and so all disclosures: only a restart helps. */
  stop(why: AppError): void
}

class ChainedJournal implements OwnJournal {
  readonly #deps: JournalDeps
  readonly #options: JournalOptions
  readonly #unlock: () => void
  readonly #file: Recovered['file']
  #seq: number
  #hash: string
  #pending: Call[] = []
  /** Written, waiting for a sync that started after the write. */
  #unsynced: Call[] = []
  #syncing: Promise<void> | undefined
  #failure: AppError | undefined
  /** A failure that requires a restart. */
  #broken: AppError | undefined
  #closed = false
  /** Known to be writable in this turn of the event loop. */
  #healthy = false

  constructor(deps: JournalDeps, options: JournalOptions, recovered: Recovered, unlock: () => void) {
    this.#deps = deps
    this.#options = options
    this.#unlock = unlock
    this.#file = recovered.file
    this.#seq = recovered.seq
    this.#hash = recovered.hash
  }

  append(records: readonly AuditRecord[]): Promise<void> {
    if (this.#closed)
      return Promise.reject(cannotWrite(this.#options.name, new Error('the journal is closed')))
    if (records.length <= AT_ONCE) return this.#append(records)
    const parts = Array.from({ length: Math.ceil(records.length / AT_ONCE) }, (_, part) =>
      this.#append(records.slice(part * AT_ONCE, (part + 1) * AT_ONCE)),
    )
    return Promise.all(parts).then(() => {})
  }

  #append(records: readonly AuditRecord[]): Promise<void> {
    return new Promise((resolve, reject) => {
      // The check phase follows all I/O callbacks of a turn: their records share one write.
      if (this.#pending.length === 0) setImmediate(() => this.#flush())
      this.#pending.push({ records, resolve, reject })
    })
  }

  /** Writes the queued records; one turn at a time. */
  #due(): Call[] {
    let records = 0
    const end = this.#pending.findIndex((call) => {
      records += call.records.length
      return records > AT_ONCE && !this.#closed
    })
    const due = end === -1 ? this.#pending : this.#pending.slice(0, Math.max(1, end))
    this.#pending = this.#pending.slice(due.length)
    if (this.#pending.length > 0) setImmediate(() => this.#flush())
    return due
  }

  async health(): Promise<void> {
    if (this.#closed) throw cannotWrite(this.#options.name, new Error('the journal is closed'))
    if (this.#broken !== undefined) throw this.#broken
    if (this.#healthy) return
    try {
      // Called before each token write; the thread pool takes twenty times as long.
      accessSync(this.#options.directory, constants.W_OK)
      // Without traffic nothing else detects that the disk has space again.
      if (this.#failure !== undefined) this.#file.probe()
      else this.#file.check()
      this.#failure = undefined
    } catch (thrown) {
      throw this.#fail(thrown)
    }
    this.#healthy = true
    setImmediate(() => {
      this.#healthy = false
    })
  }

  stop(why: AppError): void {
    this.#broken ??= this.#fail(why)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#flush()
    await this.#syncing
    try {
      await sync(this.#file.fd)
    } finally {
      for (const fd of [...this.#file.takeRetired(), this.#file.fd]) closeSync(fd)
      this.#unlock()
    }
  }

  #fail(cause: unknown): AppError {
    const error = cannotWrite(this.#options.name, cause)
    if (this.#failure === undefined)
      this.#deps.log.error({ err: error, journal: this.#options.name }, 'audit journal cannot be written')
    this.#failure = error
    this.#healthy = false
    if (this.#file.foreign) this.#broken = error
    return error
  }

  #flush(): void {
    const calls = this.#due()
    if (calls.length === 0) return
    if (this.#broken !== undefined) {
      for (const call of calls) call.reject(this.#broken)
      return
    }
    const drafts = new LineDrafts()
    /** `lines`: number of lines up to the last one of the call. */
    const encoded: { readonly call: Call; readonly lines: number }[] = []
    for (const call of calls) {
      try {
        drafts.add(call.records)
        encoded.push({ call, lines: drafts.lines.length })
      } catch (thrown) {
        // A record that cannot be encoded fails its own call only; the chain continues without it.
        call.reject(AppError.from(thrown))
      }
    }
    const texts: string[] = []
    const ends: { readonly end: number; readonly seq: number; readonly hash: string }[] = []
    let at = { end: 0, seq: this.#seq, hash: this.#hash }
    for (const draft of drafts.lines) {
      const { text, ...line } = writeLine(this.#deps.mac, at.hash, at.seq, draft)
      this.#deps.own?.wrote(at.hash, text, line)
      at = { end: at.end + Buffer.byteLength(text), seq: line.seq, hash: line.hash }
      texts.push(text)
      ends.push(at)
    }
    const { bytes, error } = at.end === 0 ? { bytes: 0 } : this.#file.write(Buffer.from(texts.join('')))
    const last = error === undefined ? at : ends.findLast(({ end }) => end <= bytes)
    if (last !== undefined) {
      this.#seq = last.seq
      this.#hash = last.hash
    }
    const failure = error === undefined ? undefined : this.#fail(error)
    if (failure === undefined && at.end > 0 && this.#options.sync !== true) this.#failure = undefined
    const written: Call[] = []
    for (const { call, lines } of encoded) {
      if (failure === undefined || (ends[lines - 1]?.end ?? 0) <= bytes) written.push(call)
      else call.reject(failure)
    }
    this.#settle(written)
  }

  /** Acknowledges written calls, at once or after a sync. */
  #settle(calls: readonly Call[]): void {
    if (this.#options.sync === true) {
      this.#unsynced.push(...calls)
      if (this.#unsynced.length > 0) this.#syncing ??= this.#syncAll()
      return
    }
    for (const fd of this.#file.takeRetired()) closeSync(fd)
    for (const call of calls) call.resolve()
  }

  /** A sync covers all writes before its start; syncs run one at a time. */
  async #syncAll(): Promise<void> {
    while (this.#unsynced.length > 0) {
      const calls = this.#unsynced
      this.#unsynced = []
      const retired = this.#file.takeRetired()
      try {
        await Promise.all([...retired, this.#file.fd].map((fd) => sync(fd)))
        this.#failure = undefined
        for (const call of calls) call.resolve()
      } catch (thrown) {
        // After a failed sync the content on disk is unknown, and the next sync may wrongly succeed.
        this.#broken = this.#fail(thrown)
        for (const call of calls) call.reject(this.#broken)
      } finally {
        for (const fd of retired) closeSync(fd)
      }
    }
    this.#syncing = undefined
  }
}

/**
 * Opens or creates the journal of a process: `<directory>/<name>.<number>.jsonl`, directory 0700, files 0600, one
 * record a line, each line's hash over the previous one (docs/security-model.md, "Audit before disclosure"). Continues
 * after the last run. Rejects with `gateway_timeout` when another live process writes it, when its last record was
 * altered, or when it cannot be written.
 */
export const openJournal = async (deps: JournalDeps, options: JournalOptions): Promise<OwnJournal> => {
  const { directory, name } = options
  if (!JOURNAL_NAME.test(name))
    throw new AppError('invalid', `"${name}" is not a valid journal name: use a-z, 0-9, "_" and "-".`)
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const unlock = lockJournal(directory, name)
    try {
      const recovered = await recover(deps, directory, name, options.segmentBytes ?? SEGMENT_BYTES)
      return new ChainedJournal(deps, options, recovered, unlock)
    } catch (thrown) {
      unlock()
      throw thrown
    }
  } catch (thrown) {
    throw cannotWrite(name, thrown)
  }
}
