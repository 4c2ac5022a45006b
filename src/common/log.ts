import { type Logger, pino } from 'pino'
import { createLineWriter } from './line-writer.ts'

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

/** ms that lines wait for company: a write for each would cost more than making it. Trouble waits for nothing. */
const GATHER = 20
/** Characters that may wait. */
const GATHERED = 16_384
const WARN = 40

/** Standard error: lines are written some at a time, from warnings on at once. A killed process loses what it had gathered. */
const gathered = () => {
  const lines = createLineWriter(process.stderr)
  let text = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (text !== '') lines.write(text)
    text = ''
  }
  process.once('exit', flush)
  return {
    [pino.symbols.needsMetadataGsym]: true,
    /** Set by pino before each write. */
    lastLevel: 0,
    write(line: string) {
      text += line
      if (this.lastLevel >= WARN || text.length > GATHERED) flush()
      else timer ??= setTimeout(flush, GATHER).unref()
    },
  }
}

let shared: ReturnType<typeof gathered> | undefined

const standardError = () => {
  shared ??= gathered()
  return shared
}

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
    standardError(),
  )
