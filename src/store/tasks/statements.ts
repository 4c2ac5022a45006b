import { sql } from 'kysely'
import type { Dialect, Slots } from '../dialect.ts'
import type { Schema } from '../schema.ts'
import { openStatement, serviceStatement } from '../statement.ts'
import type { LeasedTask, TaskKey, TaskRow } from './types.ts'

const COLUMNS = [
  'kind',
  'name',
  'lease_number',
  'holder',
  'leased_until',
  'present_at',
  'position',
  'started_at',
  'duration',
  'outcome',
] as const satisfies readonly (keyof TaskRow)[]

export const allTasks = openStatement<object, TaskRow>(({ builder }) =>
  builder.selectFrom('plugin_tasks').select(COLUMNS),
)

export const taskByKey = openStatement<TaskKey, TaskRow>(({ builder }, slot) =>
  builder
    .selectFrom('plugin_tasks')
    .where('kind', '=', slot('kind'))
    .where('name', '=', slot('name'))
    .select(COLUMNS),
)

/** Reads the end of an index. */
export const newestLog = serviceStatement<object, { seq: number | null }>(({ builder }) =>
  builder.selectFrom('logs').select(({ fn }) => fn.max('seq').as('seq')),
)

/** A present one only gets its time. */
export const upsertTask = openStatement<
  Pick<Schema['plugin_tasks'], 'kind' | 'name' | 'present_at' | 'position'>
>(({ builder }, slot) =>
  builder
    .insertInto('plugin_tasks')
    .values({
      kind: slot('kind'),
      name: slot('name'),
      lease_number: sql.lit(0),
      leased_until: sql.lit(0),
      present_at: slot('present_at'),
      position: slot('position'),
    })
    .onConflict((conflict) =>
      conflict.columns(['kind', 'name']).doUpdateSet((eb) => ({ present_at: eb.ref('excluded.present_at') })),
    ),
)

export const deleteTask = openStatement<TaskKey & { before: number }>(({ builder }, slot) =>
  builder
    .deleteFrom('plugin_tasks')
    .where('kind', '=', slot('kind'))
    .where('name', '=', slot('name'))
    .where('present_at', '<', slot('before')),
)

type Lease = LeasedTask & { holder: string; now: number; until: number }

const leased = ({ builder }: Dialect, slot: Slots<Lease>) =>
  builder
    .updateTable('plugin_tasks')
    .set((eb) => ({
      holder: slot('holder'),
      leased_until: slot('until'),
      lease_number: eb('lease_number', '+', sql.lit(1)),
    }))
    .where('kind', '=', slot('kind'))
    .where('name', '=', slot('name'))
    .where('lease_number', '=', slot('lease_number'))
    .where('leased_until', '<=', slot('now'))

export const leaseTask = openStatement<Lease>(leased)

/** The lease of a job is that of a run. */
export const startTask = openStatement<Lease>((dialect, slot) =>
  leased(dialect, slot).set({ started_at: slot('now'), duration: null, outcome: null }),
)

export const renewLease = openStatement<LeasedTask & { until: number }>(({ builder }, slot) =>
  builder
    .updateTable('plugin_tasks')
    .set({ leased_until: slot('until') })
    .where('kind', '=', slot('kind'))
    .where('name', '=', slot('name'))
    .where('lease_number', '=', slot('lease_number'))
    .where('holder', 'is not', null),
)

export const endLeases = openStatement<{ holder: string }>(({ builder }, slot) =>
  builder
    .updateTable('plugin_tasks')
    .set({ holder: null, leased_until: sql.lit(0) })
    .where('holder', '=', slot('holder')),
)

export const endRun = openStatement<
  LeasedTask & { outcome: TaskRow['outcome']; started_at: number; duration: number; position: number | null }
>(({ builder }, slot) =>
  builder
    .updateTable('plugin_tasks')
    .set({
      outcome: slot('outcome'),
      started_at: slot('started_at'),
      duration: slot('duration'),
      position: sql<number>`coalesce(${slot('position')}, ${sql.ref('position')})`,
    })
    .where('kind', '=', slot('kind'))
    .where('name', '=', slot('name'))
    .where('lease_number', '=', slot('lease_number')),
)

export const endLease = openStatement<LeasedTask>(({ builder }, slot) =>
  builder
    .updateTable('plugin_tasks')
    .set({ holder: null, leased_until: sql.lit(0) })
    .where('kind', '=', slot('kind'))
    .where('name', '=', slot('name'))
    .where('lease_number', '=', slot('lease_number')),
)
