import type { Statements } from './migration.ts'

/** Consumers and jobs of plugins: lease, position, last run. */
export const tasks: Statements = ({ schema }, { text, integer, clustered }) => [
  schema
    .createTable('plugin_tasks')
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('lease_number', integer, (c) => c.notNull())
    .addColumn('holder', text)
    .addColumn('leased_until', integer, (c) => c.notNull())
    .addColumn('present_at', integer, (c) => c.notNull())
    .addColumn('position', integer, (c) => c.notNull())
    .addColumn('started_at', integer)
    .addColumn('duration', integer)
    .addColumn('outcome', text)
    .addPrimaryKeyConstraint('plugin_tasks_pk', ['kind', 'name'])
    .modifyEnd(clustered),
]
