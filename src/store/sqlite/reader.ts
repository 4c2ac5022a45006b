import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { AppError } from '../../common/errors.ts'
import { createKeyedSemaphore } from '../../common/keyed-mutex.ts'
import { WORKER_ENV } from '../../common/worker-env.ts'
import { tooSlow } from '../too-slow.ts'
import { fromWire, type WireError } from './errors.ts'

export interface ToReader {
  readonly sql: string
  readonly values: readonly unknown[]
}

export type FromReader = { readonly rows: readonly unknown[] } | { readonly error: WireError }

/** Runs slow queries where they can be interrupted. */
export interface Reader {
  /** Rejects with `invalid` on timeout. Queries of one owner run one after the other. */
  query(sql: string, values: readonly unknown[], owner: string): Promise<readonly unknown[]>
  close(): void
}

interface ReaderOptions {
  readonly path: string
  /** Time limit of one query, ms. */
  readonly ms?: number
  /** Maximum processes, and so concurrent owners. */
  readonly most?: number
}

const ENTRY = fileURLToPath(new URL('./reader-process.ts', import.meta.url))
/** ms until an idle process is ended. */
const IDLE = 30_000

const gone = () => new AppError('gateway_timeout', 'A process that reads the store ended. Retry.')

interface Helper {
  readonly child: ChildProcess
  idle?: NodeJS.Timeout
}

/**
 * SQLite runs a query in its caller's thread, and better-sqlite3 cannot interrupt one. Slow queries run in child
 * processes, which are killed after `ms`; the next query starts a new one.
 */
export const createReader = ({ path, ms = 10_000, most = 2 }: ReaderOptions): Reader => {
  const free: Helper[] = []
  const all = new Set<Helper>()
  const runExclusive = createKeyedSemaphore(1)
  const inPlace = createKeyedSemaphore(most)
  let isClosed = false

  const end = (helper: Helper): void => {
    clearTimeout(helper.idle)
    all.delete(helper)
    if (free.includes(helper)) free.splice(free.indexOf(helper), 1)
    helper.child.kill('SIGKILL')
  }

  const start = (): Helper => {
    const child = fork(ENTRY, [path], {
      env: WORKER_ENV,
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    const helper: Helper = { child }
    all.add(helper)
    child.on('error', () => end(helper))
    child.once('exit', () => end(helper))
    return helper
  }

  const run = async (message: ToReader): Promise<readonly unknown[]> => {
    if (isClosed) throw gone()
    const helper = free.pop() ?? start()
    const { child } = helper
    clearTimeout(helper.idle)
    child.ref()
    child.channel?.ref()
    let deadline: NodeJS.Timeout | undefined
    const ended = Promise.withResolvers<FromReader>()
    const lost = () => ended.reject(gone())
    try {
      child.once('message', (result: FromReader) => ended.resolve(result))
      child.once('exit', lost)
      child.once('error', lost)
      deadline = setTimeout(() => {
        ended.reject(tooSlow())
        end(helper)
      }, ms)
      child.send(message, (failure) => failure && lost())
      const result = await ended.promise
      if ('error' in result) throw fromWire(result.error)
      return result.rows
    } finally {
      clearTimeout(deadline)
      child.off('exit', lost)
      child.off('error', lost)
      child.unref()
      child.channel?.unref()
      if (all.has(helper) && !isClosed) {
        helper.idle = setTimeout(() => end(helper), IDLE).unref()
        free.push(helper)
      }
    }
  }

  return {
    query: (sql, values, owner) => runExclusive(owner, () => inPlace('', () => run({ sql, values }))),
    close: () => {
      isClosed = true
      for (const helper of [...all]) end(helper)
    },
  }
}
