import { sql } from 'kysely'
import type { ClientBase } from 'pg'
import type { Session } from '../session.ts'
import { openStatement } from '../statement.ts'

/** The server of a connection is a standby: it takes no writes, and may not know yet what is in force. */
export class StandbyError extends Error {
  readonly code = 'standby'

  constructor() {
    super('the server is a standby')
  }
}

/** An acknowledged write is on disk (docs/security-model.md, "Durability"), whatever the database's default is; stronger ones stay. */
const BEGIN = `select pg_is_in_recovery() as standby,
  case when current_setting('synchronous_commit') = 'off' then set_config('synchronous_commit', 'on', false) end`

const unreplicated = new WeakSet<ClientBase>()

/**
 * To be called once for each connection, before anything else. Throws `StandbyError`; a primary does not become a standby
 * under a connection, since it has to start anew for that.
 */
export const beginConnection = async (client: ClientBase): Promise<void> => {
  client.on('notice', ({ routine }) => {
    if (routine === 'SyncRepWaitForLSN') unreplicated.add(client)
  })
  const { rows } = await client.query(BEGIN)
  if (rows[0]?.standby !== false) throw new StandbyError()
}

/**
 * True when the commit that this connection has just answered did not wait for the synchronous standby, because somebody
 * cancelled it: it holds on this server, and is lost when the standby takes its place.
 * https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
 */
export const isUnreplicated = (client: ClientBase): boolean => unreplicated.delete(client)

const time = openStatement<object, { readonly now: number }>(({ builder }) =>
  builder.selectNoFrom(sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`.as('now')),
)

/** ms since the epoch by the server's clock. */
export const serverTime = async (session: Session): Promise<number> =>
  (await session.get(time, {}))?.now as number
