import { type Logger, pino } from 'pino'

export type Log = Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'>

/** Thrown values may quote what they choked on (SQL parameters, JSON text): only name, code and our own frames are kept. */
const describeError = (error: unknown): Record<string, unknown> =>
  error instanceof Error
    ? {
        type: error.name,
        ...('code' in error ? { code: error.code } : {}),
        stack: error.stack
          ?.split('\n')
          .filter((line) => line.startsWith('    at '))
          .slice(0, 12)
          .join('\n'),
        ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
      }
    : { type: typeof error }

/** Structured JSON on standard error, one object a line. Never hand it a request body, a header or a token's data. */
export const createLog = (process: string, level = 'info'): Log =>
  pino(
    {
      level,
      base: { process },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError, error: describeError },
    },
    pino.destination({ fd: 2, sync: true }),
  )
