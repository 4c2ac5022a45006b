import { sql } from 'kysely'
import type { ClientBase } from 'pg'
import type { Session } from '../session.ts'
import { openStatement } from '../statement.ts'

/** The server is a standby: it rejects writes and may be out of date. */
export class StandbyError extends Error {
  readonly code = 'standby'

  constructor() {
    super('the server is a standby')
  }
}

/**
 * An acknowledged write is on disk (docs/security-model.md, "Durability"), also of the synchronous standby, whatever
 * the default of database or role, and also when the default changes during the session. A stronger setting stays.
 */
const BEGIN = `select pg_is_in_recovery() as standby,
  set_config('synchronous_commit',
    case current_setting('synchronous_commit') when 'remote_apply' then 'remote_apply' else 'on' end, false),
  (select count(set_config(name, value, false)) from unnest($1::text[], $2::text[]) as settings (name, value)
    where current_setting(name, true) is not null)`

const unreplicated = new WeakSet<ClientBase>()

/**
 * Called once for each connection, before anything else: applies the settings of its session that the server knows.
 * Throws `StandbyError`. A primary does not become a standby during a connection, since that requires a restart.
 */
export const beginConnection = async (
  client: ClientBase,
  settings: Readonly<Record<string, string>>,
): Promise<void> => {
  client.on('notice', ({ routine }) => {
    if (routine === 'SyncRepWaitForLSN') unreplicated.add(client)
  })
  const { rows } = await client.query(BEGIN, [Object.keys(settings), Object.values(settings)])
  if (rows[0]?.standby !== false) throw new StandbyError()
}

/**
 * True when the last commit on this connection did not wait for the synchronous standby because the wait was cancelled:
 * the write exists on this server, and is lost when the standby replaces it.
 * https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION
 */
export const isUnreplicated = (client: ClientBase): boolean => unreplicated.delete(client)

const time = openStatement<object, { readonly now: number }>(({ builder }) =>
  builder.selectNoFrom(sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`.as('now')),
)

/** ms since the epoch by the server's clock. */
export const serverTime = async (session: Session): Promise<number> =>
  (await session.get(time, {}))?.now as number
