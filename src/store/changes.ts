import { openStatement } from './statement.ts'

export const bumpChange = openStatement<{ kind: string }>(({ builder }, slot) =>
  builder
    .insertInto('changes')
    .values({ kind: slot('kind'), version: 1 })
    .onConflict((conflict) =>
      conflict.column('kind').doUpdateSet((eb) => ({ version: eb('changes.version', '+', 1) })),
    ),
)

export const allChanges = openStatement<object, { kind: string; version: number }>(({ builder }) =>
  builder.selectFrom('changes').select(['kind', 'version']),
)

export const totalOfChanges = openStatement<object, { total: number | null }>(({ builder }) =>
  builder.selectFrom('changes').select((eb) => eb.fn.sum<number | null>('version').as('total')),
)

/** Names of all collections that were ever written. */
export const allKinds = openStatement<object, { kind: string }>(({ builder }) =>
  builder.selectFrom('changes').orderBy('kind').select('kind'),
)
