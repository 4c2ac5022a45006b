import type { Schema } from '../schema.ts'
import type { Session } from '../session.ts'
import { statement } from '../statement.ts'
import type { TokenRow } from './types.ts'

const addCount = statement<Schema['token_counts']>(({ builder, valuesOf: rows }, slot) =>
  builder
    .insertInto('token_counts')
    .columns(['tenant_id', 'container', 'type', 'count', 'last_created_at'])
    .expression(
      rows(slot, {
        tenant_id: 'text',
        container: 'text',
        type: 'text',
        count: 'bigint',
        last_created_at: 'bigint',
      }),
    )
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

/** Members of a token that its counter depends on. */
type Group = Pick<TokenRow, 'tenant_id' | 'container' | 'type'>

/** Collects the counter changes of a command and writes each counter once, at its end. */
export const createCounts = () => {
  const groups = new Map<string, Schema['token_counts']>()

  const move = ({ tenant_id, container, type }: Group, by: number, createdAt: number): void => {
    // Neither tenant ids nor type names contain a space.
    const key = `${tenant_id} ${type} ${container}`
    const group = groups.get(key)
    if (group) {
      group.count += by
      group.last_created_at = Math.max(group.last_created_at, createdAt)
    } else groups.set(key, { tenant_id, container, type, count: by, last_created_at: createdAt })
  }

  return {
    created: (token: Group & Pick<TokenRow, 'created_at'>): void => move(token, 1, token.created_at),
    /** A token moved here by an update; its creation time is unchanged. */
    arrived: (token: Group): void => move(token, 1, 0),
    removed: (token: Group): void => move(token, -1, 0),
    /** One order everywhere, so that two transactions never deadlock. */
    write: (session: Session): Promise<unknown> =>
      session.runAll(
        addCount,
        [...groups]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([, group]) => group)
          .filter(({ count, last_created_at }) => count !== 0 || last_created_at !== 0),
      ),
  }
}

export type Counts = ReturnType<typeof createCounts>
