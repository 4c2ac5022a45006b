import type { Compilable } from 'kysely'
import type { Dialect, Slots } from './dialect.ts'
import { rejectNul } from './reject-nul.ts'

/** Placeholder of a named value in a query that is compiled once. */
class Parameter {
  readonly parameter: string

  constructor(parameter: string) {
    this.parameter = parameter
  }
}

/**
 * A query of fixed text. `P`: its named parameters, `R`: its rows. Compiled at most once for each engine and prepared
 * at most once for each connection, so that a hot path builds no SQL.
 */
export interface Statement<P, R> {
  readonly build: (dialect: Dialect, slots: Slots<P>) => Compilable<R>
  readonly scope: Scope
}

/**
 * Rows that a statement may see under row-level security (PostgreSQL). `tenant`: those of the tenant that its parameter
 * `tenant_id` names or, inside a command, of the last one named.
 */
type Scope = 'tenant' | 'service' | 'open'

type Build<P, R> = Statement<P, R>['build']

export const statement = <P extends object, R = unknown>(build: Build<P, R>): Statement<P, R> => ({
  build,
  scope: 'tenant',
})

/** Sees rows of all tenants: work of the service itself, before or without a caller. */
export const serviceStatement = <P extends object, R = unknown>(build: Build<P, R>): Statement<P, R> => ({
  build,
  scope: 'service',
})

/** A statement on tables without tenant data. */
export const openStatement = <P extends object, R = unknown>(build: Build<P, R>): Statement<P, R> => ({
  build,
  scope: 'open',
})

export interface CompiledStatement {
  readonly sql: string
  /** Values to bind, in the order of the text. */
  readonly bind: (values: object) => unknown[]
  /** Values to bind for several rows: for each parameter the list of its values. */
  readonly bindAll: (rows: readonly object[]) => unknown[][]
}

export const compileStatement = <P, R>(dialect: Dialect, { build }: Statement<P, R>): CompiledStatement => {
  const { sql, parameters } = build(dialect, ((name: string) => new Parameter(name)) as Slots<P>).compile()
  const readers = parameters.map((parameter) =>
    parameter instanceof Parameter
      ? (values: Record<string, unknown>) => rejectNul(values[parameter.parameter])
      : () => parameter,
  )
  return {
    sql,
    bind: (values) => readers.map((read) => read(values as Record<string, unknown>)),
    bindAll: (rows) => readers.map((read) => rows.map((row) => read(row as Record<string, unknown>))),
  }
}
