import type { Schema } from '../schema.ts'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'

const addCount = statement<Schema['token_counts']>(({ builder }, slot) =>
  builder
    .insertInto('token_counts')
    .values({
      tenant_id: slot('tenant_id'),
      container: slot('container'),
      type: slot('type'),
      count: slot('count'),
      last_created_at: slot('last_created_at'),
    })
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'container', 'type']).doUpdateSet((eb) => ({
        count: eb('token_counts.count', '+', eb.ref('excluded.count')),
        last_created_at: eb
          .case()
          .when('excluded.last_created_at', '>', eb.ref('token_counts.last_created_at'))
          .then(eb.ref('excluded.last_created_at'))
          .else(eb.ref('token_counts.last_created_at'))
          .end(),
      })),
    ),
)

interface Group {
  readonly tenant_id: string
  readonly container: string
  readonly type: string
}

/** Collects what a command does to the counts and writes each group once, at its end. */
export const createCounts = () => {
  const groups = new Map<string, Schema['token_counts']>()

  const move = ({ tenant_id, container, type }: Group, by: number, createdAt: number): void => {
    // Neither ids of tenants nor names of types hold a blank.
    const key = `${tenant_id} ${type} ${container}`
    const group = groups.get(key)
    if (group) {
      group.count += by
      group.last_created_at = Math.max(group.last_created_at, createdAt)
    } else groups.set(key, { tenant_id, container, type, count: by, last_created_at: createdAt })
  }

  return {
    created: (group: Group, createdAt: number): void => move(group, 1, createdAt),
    /** An update brought a token here; it is not newer for that. */
    arrived: (group: Group): void => move(group, 1, 0),
    removed: (group: Group): void => move(group, -1, 0),
    /** In one order everywhere, so that two transactions never wait for each other. */
    write: async (session: Session): Promise<void> => {
      for (const [, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1)))
        await session.run(addCount, group)
    },
  }
}

export type Counts = ReturnType<typeof createCounts>
