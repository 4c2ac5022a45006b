import { DatabaseError } from 'pg'
import { AppError } from '../../common/errors.ts'
import { StandbyError } from './standby-check.ts'

/** Transactions that wait for each other, or for one that has just ended. */
const CONTENDED = new Set(['40001', '40P01', '55P03'])
/** A row that was read by the transaction is gone since: its next try finds out in its own way. */
const FOREIGN_KEY = '23503'

/** The five characters of https://www.postgresql.org/docs/current/errcodes-appendix.html, or a system error's name. */
export const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''

/** What is kept of an engine's error: its code. Its text may quote SQL, or values. */
const stripped = (thrown: unknown): Error => {
  const code = codeOf(thrown) || 'connection'
  return Object.assign(new Error(`PostgreSQL failed (${code})`), { code })
}

/** The transaction failed for another's sake and nothing of it stays: it may be run again. */
export const isContended = (thrown: unknown): boolean =>
  CONTENDED.has(codeOf(thrown)) || codeOf(thrown) === FOREIGN_KEY

/** The server gave a statement up that took longer than it may. */
export const isInterrupted = (thrown: unknown): boolean => codeOf(thrown) === '57014'

/** The server refused a write because the transaction, and perhaps its connection, may only read. */
export const isReadOnly = (thrown: unknown): boolean => codeOf(thrown) === '25006'

/** What `pg` says of connections that end, or do not begin, without a word of the server. */
const SILENT =
  /^(Connection terminated|Client (has encountered a connection error|was closed)|Query read timeout|timeout exceeded when trying to connect)/

/** A system error's name: of a host with several addresses it is all that is told. Node's own begin with `ERR_`. */
const SYSTEM = /^E(?!RR_)[A-Z_]+$/

/** The connection is gone, or was never there: by the server's word (classes 08 and 57P), the system's or the client's. */
export const isLost = (thrown: unknown): boolean => {
  if (thrown instanceof DatabaseError) return /^(08|57P|53300)/.test(codeOf(thrown))
  if (!(thrown instanceof Error)) return false
  return 'syscall' in thrown || SYSTEM.test(codeOf(thrown)) || SILENT.test(thrown.message)
}

const unreachable = (thrown: unknown) =>
  new AppError('overloaded', 'The store cannot be reached; nothing was done. Retry shortly.', {
    cause: stripped(thrown),
    retryAfter: 1,
  })

/** A commit whose answer got lost. */
export const unknownOutcome = (thrown: unknown): AppError =>
  new AppError(
    'gateway_timeout',
    'The connection to the store was lost before it answered; the write may or may not have been kept. Read, then retry.',
    { cause: stripped(thrown), uncertain: true },
  )

/** A commit that the synchronous standby has not confirmed. */
export const unreplicatedOutcome = (): AppError =>
  new AppError(
    'gateway_timeout',
    'The standby of the store did not confirm the write; it is lost if the primary is. Read, then retry.',
    { uncertain: true },
  )

/** Any thrown thing as an AppError; the engine's own text never reaches a caller. */
export const fromPostgres = (thrown: unknown): AppError => {
  if (thrown instanceof AppError) return thrown
  const cause = stripped(thrown)
  const code = codeOf(thrown)
  if (isContended(thrown) || isInterrupted(thrown))
    return new AppError('overloaded', 'The store is busy with other work. Retry shortly.', {
      cause,
      retryAfter: 1,
    })
  if (code.startsWith('53'))
    return new AppError('overloaded', 'The store has no room left; nothing was written. Tell the operator.', {
      cause,
      retryAfter: 30,
    })
  if (code === '23505')
    return new AppError('conflict', 'Something of this name exists already. Choose another.', { cause })
  if (code === '22021' || code === '22P05')
    return new AppError('invalid', 'A text holds the character U+0000, which the store cannot keep.', {
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
      'The store is a standby at the moment, which cannot say what is in force; nothing was done. Retry shortly.',
      { cause, retryAfter: 5 },
    )
  if (isLost(thrown)) return unreachable(thrown)
  return AppError.from(thrown instanceof DatabaseError ? cause : thrown)
}
