import type { ClientBase, QueryResult } from 'pg'
import { AppError } from '../../common/errors.ts'
import { createKeyedSemaphore } from '../../common/keyed-mutex.ts'
import { rejectNul } from '../reject-nul.ts'
import type { Session } from '../session.ts'
import { type CompiledStatement, compileStatement, type Statement } from '../statement.ts'
import { tooSlow } from '../too-slow.ts'
import { postgresDialect } from './dialect.ts'
import { fromPostgres, isInterrupted, isLost } from './errors.ts'
import type { Connections } from './pool.ts'
import { enterScope, SERVICE, scopeOf } from './tenant-scope.ts'

interface Named extends CompiledStatement {
  /** Name of the prepared statement on each connection. */
  readonly name: string
  readonly writes: boolean
}

const compiled = new WeakMap<object, Named>()
let names = 0

const nameOf = <P, R>(statement: Statement<P, R>): Named => {
  const known = compiled.get(statement)
  if (known) return known
  const one = compileStatement(postgresDialect, statement)
  const fresh = { ...one, name: `s${++names}`, writes: !one.sql.startsWith('select ') }
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
  writes?: boolean,
) => Promise<T>

const sessionOver = (
  { ask, lock }: { readonly ask: Ask; readonly lock: Session['lock'] },
  scopeOfRow = scopeFor,
): Session => {
  const send = <P extends object, R>(statement: Statement<P, R>, values: P): Promise<QueryResult> => {
    const { name, sql: text, bind, writes } = nameOf(statement)
    const scope = scopeOfRow(statement as Statement<never, unknown>, values)
    return ask(scope, (client) => client.query({ name, text, values: bind(values) }), writes)
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
    runAll: async (statement, rows) => {
      const { name, sql: text, bindAll } = nameOf(statement)
      const groups = Map.groupBy(rows, (row) => scopeOfRow(statement as Statement<never, unknown>, row))
      const results = await Promise.all(
        [...groups].map(([scope, some]) =>
          ask(scope, (client) => client.query({ name, text, values: bindAll(some) }), true),
        ),
      )
      return results.reduce((written, { rowCount }) => written + (rowCount ?? 0), 0)
    },
    query,
    search: query,
    lock,
  }
}

// Locks the hash of the name: names with equal hashes wait for each other, which is harmless.
const LOCK = {
  name: 'lock',
  text: "select pg_advisory_xact_lock(hashtextextended('sidevault ' || $1, 0))",
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
 * Inside a transaction. `serviceWide`: every statement sees rows of all tenants. Errors are those of the engine.
 */
export const transactionSession = (
  client: ClientBase,
  { serviceWide }: { readonly serviceWide: boolean },
): Session =>
  sessionOver(
    {
      ask: (scope, send, writes = false) => {
        const ask = () => inScope(client, scope, () => send(client))
        return writes ? onceStarted(client, ask) : ask()
      },
      lock: async (name, how) => {
        await client.query({ ...(how === 'shared' ? SHARE : LOCK), values: [name] })
      },
    },
    serviceWide ? () => SERVICE : scopeFor,
  )

/**
 * For reads, each on any free one of `size` connections; a read whose connection is lost is retried once. Searches, which
 * may take 10 s, leave connections for reads by id: one tenant uses at most a quarter, all tenants three quarters.
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
  const session = sessionOver({ ask, lock })
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
