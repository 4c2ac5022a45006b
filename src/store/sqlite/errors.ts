import Database from 'better-sqlite3'
import { AppError, codeOf, type ErrorCode, type FieldErrors } from '../../common/errors.ts'

/** Code of an engine error only. Its text may quote SQL. */
const stripped = (code: string): Error => Object.assign(new Error(`SQLite failed (${code})`), { code })

/** Any error as an AppError; the engine's own text never reaches a caller. */
export const fromSqlite = (thrown: unknown): AppError => {
  if (thrown instanceof AppError) return thrown
  if (!(thrown instanceof Database.SqliteError)) return AppError.from(thrown)
  const { code } = thrown
  const cause = stripped(code)
  if (/^SQLITE_(BUSY|LOCKED)/.test(code))
    return new AppError('overloaded', 'The store is busy with other writes. Retry shortly.', {
      cause,
      retryAfter: 1,
    })
  if (code.startsWith('SQLITE_FULL'))
    return new AppError(
      'overloaded',
      'The store has no disk space left; nothing was written. Notify the operator.',
      {
        cause,
        retryAfter: 30,
      },
    )
  // In the WAL, but perhaps not on disk: a crash before the next write may revive it.
  if (/^SQLITE_IOERR_(DIR_)?FSYNC$/.test(code))
    return new AppError(
      'gateway_timeout',
      'The disk of the store failed at the end of a write, which may have succeeded. Read, then retry; notify the operator.',
      { cause, uncertain: true },
    )
  if (/^SQLITE_(IOERR|READONLY|CANTOPEN)/.test(code))
    return new AppError(
      'overloaded',
      'The disk of the store fails or is read-only; nothing was written. Notify the operator.',
      { cause, retryAfter: 30 },
    )
  if (code === 'SQLITE_CONSTRAINT_TRIGGER')
    return new AppError(
      'overloaded',
      'The vault was migrated to another store; nothing was written. The operator must start the service on that store.',
      { cause, retryAfter: 30 },
    )
  if (/^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)/.test(code))
    return new AppError('conflict', 'This name is already in use. Choose another.', { cause })
  return AppError.from(cause)
}

/** An AppError as data for another thread. */
export interface WireError {
  readonly code: ErrorCode
  readonly detail: string
  readonly errors?: FieldErrors
  readonly retryAfter?: number
  readonly uncertain?: boolean
  readonly conflictWith?: AppError['conflictWith']
  readonly cause?: { readonly name: string; readonly code?: string; readonly stack?: string }
}

export const toWire = (thrown: unknown): WireError => {
  const error = fromSqlite(thrown)
  const { code, message: detail, errors, retryAfter, uncertain, conflictWith, cause } = error
  return {
    code,
    detail,
    ...(errors ? { errors } : {}),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(uncertain ? { uncertain } : {}),
    ...(conflictWith ? { conflictWith } : {}),
    ...(cause instanceof Error
      ? {
          cause: {
            name: cause.name,
            ...(codeOf(cause) === '' ? {} : { code: codeOf(cause) }),
            // Stack frames only: a message may quote a value.
            stack: (cause.stack ?? '')
              .split('\n')
              .filter((line) => line.startsWith('    at '))
              .slice(0, 12)
              .join('\n'),
          },
        }
      : {}),
  }
}

export const fromWire = ({
  code,
  detail,
  errors,
  retryAfter,
  uncertain,
  conflictWith,
  cause,
}: WireError): AppError =>
  new AppError(code, detail, {
    ...(errors ? { errors } : {}),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(uncertain ? { uncertain } : {}),
    ...(conflictWith ? { conflictWith } : {}),
    ...(cause
      ? { cause: Object.assign(new Error(`the store's writer failed (${cause.code ?? cause.name})`), cause) }
      : {}),
  })
