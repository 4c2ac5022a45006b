import { type Logger, pino } from 'pino'
import { systemClock } from './clock.ts'
import { createLineWriter } from './line-writer.ts'

export type Log = Pick<Logger, 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'child'>

/**
 * Name, code, file and stack frames of an error. Its message may quote input (SQL parameters, JSON text), so it is not
 * logged.
 */
const describeError = (error: unknown): Record<string, unknown> =>
  error instanceof Error
    ? {
        type: error.name,
        ...('code' in error ? { code: error.code } : {}),
        ...('syscall' in error && 'path' in error ? { path: error.path } : {}),
        stack: error.stack
          ?.split('\n')
          .filter((line) => line.startsWith('    at '))
          .slice(0, 12)
          .join('\n'),
        ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
      }
    : { type: typeof error }

/** ms that lines below `warn` are buffered: one write each would cost more than formatting them. */
const GATHER = 20
/** Characters buffered at most. */
const GATHERED = 16_384
const WARN = 40

/** Buffered standard error; warnings and errors are written at once. A killed process loses its buffer. */
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

let second = Number.NaN
let untilSecond = ''

/** pino's `isoTime`, whose text is formatted once a second up to the milliseconds. */
const isoTime = (): string => {
  const now = systemClock.now()
  const ms = now % 1000
  if (now - ms !== second) {
    second = now - ms
    untilSecond = `,"time":"${new Date(second).toISOString().slice(0, -4)}`
  }
  return `${untilSecond}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z"`
}

let shared: ReturnType<typeof gathered> | undefined

const standardError = () => {
  shared ??= gathered()
  return shared
}

/** JSON lines on standard error. Never pass a request body, a header or a token's data. */
export const createLog = (process: string, level = 'info'): Log =>
  pino(
    {
      level,
      base: { process },
      timestamp: isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError, error: describeError },
    },
    standardError(),
  )
