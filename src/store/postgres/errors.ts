import { DatabaseError } from 'pg'
import { AppError, codeOf } from '../../common/errors.ts'
import { StandbyError } from './standby-check.ts'

/** Deadlocks and serialization failures. */
const CONTENDED = new Set(['40001', '40P01', '55P03'])
/** A row that the transaction read has been deleted: the next attempt handles it. */
const FOREIGN_KEY = '23503'
const DISK_FULL = '53100'
/** Class of errors about memory, locks and other limits of the server. */
const INSUFFICIENT_RESOURCES = '53'

/** Code of an engine error only. Its text may quote SQL or values. */
const stripped = (thrown: unknown): Error => {
  const code = codeOf(thrown) || 'connection'
  return Object.assign(new Error(`PostgreSQL failed (${code})`), { code })
}

/** A transient failure that left no effect: the transaction may be retried. */
export const isContended = (thrown: unknown): boolean =>
  CONTENDED.has(codeOf(thrown)) || codeOf(thrown) === FOREIGN_KEY

/** The server cancelled a statement that exceeded its time limit. */
export const isInterrupted = (thrown: unknown): boolean => codeOf(thrown) === '57014'

/** The server rejected a write in a read-only transaction or connection. */
export const isReadOnly = (thrown: unknown): boolean => codeOf(thrown) === '25006'

/** Messages of `pg` for connections that end, or fail to open, without an error from the server. */
const SILENT =
  /^(Connection terminated|Client (has encountered a connection error|was closed)|Query read timeout|timeout exceeded when trying to connect)/

/** System error codes: all that is known of a host with several addresses. Node's own codes start with `ERR_`. */
const SYSTEM = /^E(?!RR_)[A-Z_]+$/

/**
 * The connection is lost or was never open: by an error of the server (classes 08 and 57P, idle transactions 25P03),
 * the system or the client.
 */
export const isLost = (thrown: unknown): boolean => {
  if (thrown instanceof DatabaseError) return /^(08|57P|25P03|53300)/.test(codeOf(thrown))
  if (!(thrown instanceof Error)) return false
  return 'syscall' in thrown || SYSTEM.test(codeOf(thrown)) || SILENT.test(thrown.message)
}

const unreachable = (thrown: unknown) =>
  new AppError('overloaded', 'The store cannot be reached; nothing was done. Retry shortly.', {
    cause: stripped(thrown),
    retryAfter: 1,
  })

/** A commit whose result is unknown. */
export const unknownOutcome = (thrown: unknown): AppError =>
  new AppError(
    'gateway_timeout',
    'The connection to the store was lost before it confirmed the write, which may have succeeded. Read, then retry.',
    { cause: stripped(thrown), uncertain: true },
  )

/** A commit that the synchronous standby did not confirm. */
export const unreplicatedOutcome = (): AppError =>
  new AppError(
    'gateway_timeout',
    "The store's standby did not confirm the write; it is lost if the primary fails. Read, then retry.",
    { uncertain: true },
  )

/** Any error as an AppError; the engine's own text never reaches a caller. */
export const fromPostgres = (thrown: unknown): AppError => {
  if (thrown instanceof AppError) return thrown
  const cause = stripped(thrown)
  const code = codeOf(thrown)
  if (code === DISK_FULL)
    return new AppError(
      'overloaded',
      'The store has no disk space left; nothing was written. Notify the operator.',
      {
        cause,
        retryAfter: 30,
      },
    )
  if (isLost(thrown)) return unreachable(thrown)
  if (isContended(thrown) || isInterrupted(thrown) || code.startsWith(INSUFFICIENT_RESOURCES))
    return new AppError('overloaded', 'The store is busy with other work. Retry shortly.', {
      cause,
      retryAfter: 1,
    })
  if (code === '23505')
    return new AppError('conflict', 'This name is already in use. Choose another.', { cause })
  if (code === '22021' || code === '22P05')
    return new AppError('invalid', 'A text contains the character U+0000, which cannot be stored.', {
      cause,
    })
  if (code === '22003' || code === '22P02')
    return new AppError('invalid', 'A number is out of the range that the store can compare.', { cause })
  if (isReadOnly(thrown))
    return new AppError('overloaded', 'The store is read-only at the moment; nothing was written.', {
      cause,
      retryAfter: 5,
    })
  if (thrown instanceof StandbyError)
    return new AppError(
      'overloaded',
      'The store is a standby at the moment, which may be out of date; nothing was done. Retry shortly.',
      { cause, retryAfter: 5 },
    )
  return AppError.from(thrown instanceof DatabaseError ? cause : thrown)
}
