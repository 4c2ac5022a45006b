import type { ClientBase, QueryResult } from 'pg'
import { AppError } from '../../common/errors.ts'
import { createKeyedSemaphore } from '../../common/keyed-mutex.ts'
import type { Command } from '../command.ts'
import type { NumberedRow } from '../dialect.ts'
import { rejectNul } from '../reject-nul.ts'
import type { Session } from '../session.ts'
import { type CompiledStatement, compileStatement, type Statement } from '../statement.ts'
import { tooSlow } from '../too-slow.ts'
import { IS_STARTED, postgresDialect } from './dialect.ts'
import { fromPostgres, isInterrupted, isLost } from './errors.ts'
import type { Connections } from './pool.ts'
import { enterScope, SERVICE, scopeOf } from './tenant-scope.ts'

interface Named extends CompiledStatement {
  /** Name of the prepared statement on each connection. */
  readonly name: string
  /** True: must not be sent before the response to `begin`. */
  readonly awaitsStart: boolean
}

const compiled = new WeakMap<object, Named>()
let names = 0

const nameOf = <P, R>(statement: Statement<P, R>): Named => {
  const known = compiled.get(statement)
  if (known) return known
  const text = compileStatement(postgresDialect, statement)
  const awaitsStart = !text.sql.startsWith('select ') && !text.sql.includes(IS_STARTED)
  const fresh = { ...text, name: `s${++names}`, awaitsStart }
  compiled.set(statement, fresh)
  return fresh
}

/** Undefined: the scope stays unchanged. */
const scopeFor = ({ scope }: Statement<never, unknown>, values: object): string | undefined => {
  if (scope === 'open') return undefined
  if (scope === 'service') return SERVICE
  const tenantId = (values as { readonly tenant_id?: unknown }).tenant_id
  return typeof tenantId === 'string' ? scopeOf(tenantId) : undefined
}

/** Prefers the statement's own error: on a lost connection it fails like those before it. */
const inScope = async <T>(
  client: ClientBase,
  scope: string | undefined,
  send: () => Promise<T>,
): Promise<T> => {
  const entered = scope === undefined ? undefined : enterScope(client, scope)
  const [result] = await Promise.all([send(), entered])
  return result
}

type Ask = <T>(
  scope: string | undefined,
  send: (client: ClientBase) => Promise<T>,
  awaitsStart?: boolean,
) => Promise<T>

const sessionOver = (
  { ask, lock, lockAll }: { readonly ask: Ask } & Pick<Session, 'lock' | 'lockAll'>,
  scopeOfRow = scopeFor,
): Session => {
  const send = <P extends object, R>(statement: Statement<P, R>, values: P): Promise<QueryResult> => {
    const { name, sql: text, bind, awaitsStart } = nameOf(statement)
    const scope = scopeOfRow(statement as Statement<never, unknown>, values)
    return ask(scope, (client) => client.query({ name, text, values: bind(values) }), awaitsStart)
  }
  /**
   * One statement for the rows of each scope. Throws at once for a value that cannot be bound, so that no commit
   * follows; a statement that fails on the server aborts its transaction, also when no caller awaits it.
   */
  const sendAll = <P extends object, R, T>(
    statement: Statement<P, R>,
    rows: readonly P[],
    toResult: (sent: readonly { readonly some: readonly P[]; readonly result: QueryResult }[]) => T,
  ): Promise<T> => {
    const { name, sql: text, bindAll, awaitsStart } = nameOf(statement)
    const groups = Map.groupBy(rows, (row) => scopeOfRow(statement as Statement<never, unknown>, row))
    const bound = [...groups].map(([scope, some]) => ({ scope, some, values: bindAll(some) }))
    const results = Promise.all(
      bound.map(async ({ scope, some, values }) => ({
        some,
        result: await ask(scope, (client) => client.query({ name, text, values }), awaitsStart),
      })),
    ).then(toResult)
    results.catch(() => {})
    return results
  }
  const query: Session['query'] = async (wanted, tenantId) => {
    const { sql: text, parameters } = wanted.compile()
    const values = parameters.map(rejectNul)
    return (await ask(scopeOf(tenantId), (client) => client.query({ text, values }))).rows
  }
  return {
    dialect: postgresDialect,
    all: async (statement, values) => (await send(statement, values)).rows,
    get: async (statement, values) => (await send(statement, values)).rows[0],
    insert: async (statement, values) => (await send(statement, values)).rows[0]?.seq,
    run: async (statement, values) => (await send(statement, values)).rowCount ?? 0,
    getAll: <P extends object, R>(statement: Statement<P, R>, rows: readonly P[]) =>
      sendAll(
        statement,
        rows,
        (sent) =>
          new Map(
            sent.flatMap(({ some, result }) =>
              (result.rows as (R & { readonly at: number })[]).map(
                ({ at, ...row }) => [some[at - 1] as P, row as unknown as R] as const,
              ),
            ),
          ),
      ),
    runAll: (statement, rows) =>
      sendAll(statement, rows, (sent) =>
        sent.reduce((written, { result }) => written + (result.rowCount ?? 0), 0),
      ),
    insertAll: (statement, rows) =>
      sendAll(statement, rows, (sent) => {
        const numbered = sent.flatMap(({ some, result }) => {
          const seqs = new Map((result.rows as NumberedRow[]).map(({ id, seq }) => [id, seq]))
          return some.flatMap((row) => {
            const seq = seqs.get(row.id)
            // A second row with the id was not written.
            seqs.delete(row.id)
            return seq === undefined ? [] : [[row, seq] as const]
          })
        })
        return new Map(numbered)
      }),
    query,
    search: query,
    lock,
    lockAll,
    isAwaited: () => false,
  }
}

// Locks the hash of the name: names with equal hashes wait for each other, which is harmless.
const LOCK = {
  name: 'lock',
  text: "select pg_advisory_xact_lock(hashtextextended('sidevault ' || $1, 0))",
}

// In the order of the hashes, so that two transactions never deadlock.
const LOCK_ALL = {
  name: 'lock all',
  text: `select pg_advisory_xact_lock(hash) from (select distinct hashtextextended('sidevault ' || name, 0) as hash
    from unnest($1::text[]) as name order by 1) as hashes`,
}

const SHARE = {
  name: 'share',
  text: "select pg_advisory_xact_lock_shared(hashtextextended('sidevault ' || $1, 0))",
}

const starting = new WeakMap<ClientBase, Promise<unknown>>()

/** `started`: the response to the `begin` of a connection's next transaction. Undefined: it has ended. */
export const setStarting = (client: ClientBase, started: Promise<unknown> | undefined): void => {
  if (started === undefined) starting.delete(client)
  else starting.set(client, started)
  started?.then(
    () => starting.delete(client),
    () => {},
  )
}

/** Sends a write once the server has started the transaction: after a failed `begin` it would commit by itself. */
const onceStarted = <T>(client: ClientBase, send: () => Promise<T>): Promise<T> =>
  starting.get(client)?.then(send) ?? send()

/**
 * Inside a transaction. `scope`: with `service` every statement sees rows of all tenants. Errors are those of the
 * engine.
 */
export const transactionSession = (client: ClientBase, scope: Command['scope']): Session =>
  sessionOver(
    {
      ask: (scope, send, awaitsStart = false) => {
        const ask = () => inScope(client, scope, () => send(client))
        return awaitsStart ? onceStarted(client, ask) : ask()
      },
      lock: async (name, how) => {
        await client.query({ ...(how === 'shared' ? SHARE : LOCK), values: [name] })
      },
      lockAll: async (names) => {
        await client.query({ ...LOCK_ALL, values: [names] })
      },
    },
    scope === 'service' ? () => SERVICE : scopeFor,
  )

/**
 * For reads, each on any free one of `size` connections; a read whose connection is lost is retried once. Searches,
 * which may take 10 s, leave connections for reads by id: one tenant uses at most a quarter, all tenants three
 * quarters.
 */
export const readSession = (connections: Connections, size: number): Session => {
  const ofTenant = createKeyedSemaphore(Math.ceil(size / 4))
  const ofAll = createKeyedSemaphore(Math.ceil((size * 3) / 4))
  const ask: Ask = async (scope, send) => {
    const once = () => connections.use((client) => inScope(client, scope, () => send(client)))
    try {
      return await once().catch((thrown) => {
        if (!isLost(thrown)) throw thrown
        return once()
      })
    } catch (thrown) {
      throw fromPostgres(thrown)
    }
  }
  const lock = async () => {
    throw new AppError('internal', 'Locks require a command.')
  }
  const session = sessionOver({ ask, lock, lockAll: lock })
  return {
    ...session,
    search: async (wanted, tenantId) => {
      try {
        return await ofTenant(tenantId, () => ofAll('', () => session.query(wanted, tenantId)))
      } catch (thrown) {
        throw thrown instanceof AppError && isInterrupted(thrown.cause) ? tooSlow() : thrown
      }
    },
  }
}
