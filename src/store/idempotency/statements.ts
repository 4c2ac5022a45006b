import type { IdempotencyKeysTable } from '../schema.ts'
import { serviceStatement, statement } from '../statement.ts'

type Row = IdempotencyKeysTable
type Key = Pick<Row, 'tenant_id' | 'key'>

export const recordByKey = statement<Key, Row>(({ builder }, slot) =>
  builder
    .selectFrom('idempotency_keys')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key'))
    .selectAll(),
)

/** Checks expiry again: the previous holder may have written since. */
export const deleteExpired = statement<Key & { now: number }>(({ builder }, slot) =>
  builder
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key'))
    .where('expires_at', '<=', slot('now')),
)

/** Writes no row when there is one. */
export const insertRecord = statement<Omit<Row, 'sealed' | 'shown' | 'shown_until'>>(({ builder }, slot) =>
  builder
    .insertInto('idempotency_keys')
    .values({
      tenant_id: slot('tenant_id'),
      key: slot('key'),
      operation: slot('operation'),
      holder: slot('holder'),
      process: slot('process'),
      sealed: null,
      running_until: slot('running_until'),
      expires_at: slot('expires_at'),
      shown: null,
      shown_until: null,
    })
    .onConflict((conflict) => conflict.doNothing()),
)

/** Writes no row when another holder has the lease. */
export const markEffects = statement<Key & Pick<Row, 'holder' | 'expires_at'>>(({ builder }, slot) =>
  builder
    .updateTable('idempotency_keys')
    .set({ expires_at: slot('expires_at') })
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key'))
    .where('holder', '=', slot('holder')),
)

/** Writes no row when another holder has the lease. */
export const storeResponse = statement<Omit<Row, 'operation' | 'process' | 'running_until'>>(
  ({ builder }, slot) =>
    builder
      .updateTable('idempotency_keys')
      .set({
        sealed: slot('sealed'),
        expires_at: slot('expires_at'),
        shown: slot('shown'),
        shown_until: slot('shown_until'),
      })
      .where('tenant_id', '=', slot('tenant_id'))
      .where('key', '=', slot('key'))
      .where('holder', '=', slot('holder')),
)

/** Only while no response is stored. */
export const deleteUnfinished = statement<Key & Pick<Row, 'holder'>>(({ builder }, slot) =>
  builder
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key'))
    .where('holder', '=', slot('holder'))
    .where('sealed', 'is', null),
)

/** Same, while nothing was written under the lease. */
export const deleteUnused = statement<Key & Pick<Row, 'holder'>>(({ builder }, slot) =>
  builder
    .deleteFrom('idempotency_keys')
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key'))
    .where('holder', '=', slot('holder'))
    .where('sealed', 'is', null)
    .whereRef('expires_at', '=', 'running_until'),
)

export const endRunning = statement<Key & Pick<Row, 'holder' | 'running_until'>>(({ builder }, slot) =>
  builder
    .updateTable('idempotency_keys')
    .set({ running_until: slot('running_until') })
    .where('tenant_id', '=', slot('tenant_id'))
    .where('key', '=', slot('key'))
    .where('holder', '=', slot('holder')),
)

export const heldByProcess = serviceStatement<{ process: string }, { count: number }>(({ builder }, slot) =>
  builder
    .selectFrom('idempotency_keys')
    .where('process', '=', slot('process'))
    .where('sealed', 'is', null)
    .select((eb) => eb.fn.countAll<number>().as('count')),
)

/** `deleteUnused` for all leases of a process. */
export const deleteUnusedOf = serviceStatement<{ process: string }>(({ builder }, slot) =>
  builder
    .deleteFrom('idempotency_keys')
    .where('process', '=', slot('process'))
    .where('sealed', 'is', null)
    .whereRef('expires_at', '=', 'running_until'),
)

/** `endRunning` for all leases of a process. */
export const endRunningOf = serviceStatement<{ process: string; running_until: number }>(
  ({ builder }, slot) =>
    builder
      .updateTable('idempotency_keys')
      .set({ running_until: slot('running_until') })
      .where('process', '=', slot('process'))
      .where('sealed', 'is', null),
)
