import type { Compilable } from 'kysely'
import type { Dialect } from './dialect.ts'

/** Stands for a named value in a query that is compiled once and run often. */
class Parameter {
  readonly parameter: string

  constructor(parameter: string) {
    this.parameter = parameter
  }
}

/** Names a parameter where Kysely expects its value. */
export type Slots<P> = <K extends keyof P & string>(name: K) => P[K]

/**
 * A query of fixed text. `P`: its named parameters, `R`: the rows it answers. Compiled at most once per engine and
 * prepared at most once per connection, so that a hot path never builds SQL.
 */
export interface Statement<P, R> {
  readonly build: (dialect: Dialect, slots: Slots<P>) => Compilable<R>
}

export const statement = <P extends object, R = unknown>(
  build: (dialect: Dialect, slots: Slots<P>) => Compilable<R>,
): Statement<P, R> => ({ build })

export interface CompiledStatement {
  readonly sql: string
  /** The values to bind, in the order of the text. */
  readonly bind: (values: object) => unknown[]
}

export const compileStatement = <P, R>(dialect: Dialect, { build }: Statement<P, R>): CompiledStatement => {
  const { sql, parameters } = build(dialect, ((name: string) => new Parameter(name)) as Slots<P>).compile()
  const readers = parameters.map((parameter) =>
    parameter instanceof Parameter
      ? (values: Record<string, unknown>) => values[parameter.parameter]
      : () => parameter,
  )
  return { sql, bind: (values) => readers.map((read) => read(values as Record<string, unknown>)) }
}
