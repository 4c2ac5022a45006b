import type { Compilable } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { NumberedRow } from '../dialect.ts'
import { rejectNul } from '../reject-nul.ts'
import type { Session } from '../session.ts'
import { type CompiledStatement, compileStatement, type Statement } from '../statement.ts'
import type { Connection } from './connection.ts'
import { sqliteDialect } from './dialect.ts'
import { fromSqlite } from './errors.ts'
import type { Reader } from './reader.ts'

/**
 * Maximum cached statements of dynamic queries. SQLite's memory for them is outside V8's heap, so garbage collection
 * does not account for it.
 */
const MAX_QUERIES = 200

interface Prepared {
  readonly compiled: CompiledStatement
  readonly run: ReturnType<Connection['prepare']>
}

interface SqliteSessionOptions {
  /** Runs searches. */
  readonly reader?: Reader
  readonly isAwaited?: () => boolean
}

/** Runs statements synchronously on the calling thread; searches run in the reader. */
export const createSqliteSession = (
  db: Connection,
  { reader, isAwaited = () => false }: SqliteSessionOptions = {},
): Session => {
  const prepared = new Map<object, Prepared>()
  const queries = new LRUCache<string, Prepared['run']>({
    max: MAX_QUERIES,
    memoMethod: (sql) => db.prepare(sql),
  })

  const prepare = <P, R>(statement: Statement<P, R>): Prepared => {
    const known = prepared.get(statement)
    if (known) return known
    const compiled = compileStatement(sqliteDialect, statement)
    const fresh = { compiled, run: db.prepare(compiled.sql) }
    prepared.set(statement, fresh)
    return fresh
  }

  const guarded = <T>(work: () => T): T => {
    try {
      return work()
    } catch (thrown) {
      throw fromSqlite(thrown)
    }
  }

  const query = async <R>(wanted: Compilable<R>) =>
    guarded(() => {
      const { sql, parameters } = wanted.compile()
      return queries.memo(sql).all(parameters.map(rejectNul)) as R[]
    })

  return {
    dialect: sqliteDialect,
    all: <P extends object, R>(statement: Statement<P, R>, values: P) =>
      guarded(() => {
        const { compiled, run } = prepare(statement)
        return run.all(compiled.bind(values)) as R[]
      }),
    get: <P extends object, R>(statement: Statement<P, R>, values: P) =>
      guarded(() => {
        const { compiled, run } = prepare(statement)
        return run.get(compiled.bind(values)) as R | undefined
      }),
    insert: async <P extends object>(statement: Statement<P, NumberedRow>, values: P) =>
      guarded(() => {
        const { compiled, run } = prepare(statement)
        const { changes, lastInsertRowid } = run.run(compiled.bind(values))
        return changes === 0 ? undefined : Number(lastInsertRowid)
      }),
    getAll: async <P extends object, R>(statement: Statement<P, R>, rows: readonly P[]) =>
      guarded(() => {
        const { compiled, run } = prepare(statement)
        return new Map(
          rows.flatMap((row) => {
            const result = run.get(compiled.bind(row)) as R | undefined
            return result === undefined ? [] : [[row, result] as const]
          }),
        )
      }),
    insertAll: async <P extends object>(statement: Statement<P, NumberedRow>, rows: readonly P[]) =>
      guarded(() => {
        const { compiled, run } = prepare(statement)
        const seqs = new Map<P, number>()
        for (const row of rows) {
          const { changes, lastInsertRowid } = run.run(compiled.bind(row))
          if (changes > 0) seqs.set(row, Number(lastInsertRowid))
        }
        return seqs
      }),
    run: async <P extends object, R>(statement: Statement<P, R>, values: P) =>
      guarded(() => {
        const { compiled, run } = prepare(statement)
        return run.run(compiled.bind(values)).changes
      }),
    runAll: async <P extends object>(statement: Statement<P, unknown>, rows: readonly P[]) =>
      guarded(() => {
        const { compiled, run } = prepare(statement)
        return rows.reduce((written, row) => written + run.run(compiled.bind(row)).changes, 0)
      }),
    query,
    search: async <R>(wanted: Compilable<R>, tenantId: string) => {
      if (reader === undefined) return query(wanted)
      const { sql, parameters } = wanted.compile()
      return (await reader.query(sql, parameters.map(rejectNul), tenantId)) as R[]
    },
    lock: async () => {},
    lockAll: async () => {},
    isAwaited,
  }
}
