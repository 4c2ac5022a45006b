import type { ClientBase } from 'pg'

/** All tenants; no tenant's id holds a star. */
export const SERVICE = '*'

/** The scope of a tenant's statements. The service's own keys lie under the id ''. */
export const scopeOf = (tenantId: string): string => (tenantId === '' ? SERVICE : tenantId)

const scopes = new WeakMap<ClientBase, string>()

/** After a rollback, or a failure, nobody knows what holds. */
export const forgetScope = (client: ClientBase): void => {
  scopes.delete(client)
}

/**
 * From now on the connection meets rows of this scope only. Written ahead of the next statement, so that it costs no
 * round trip; undefined when it is so already.
 */
export const enterScope = (client: ClientBase, scope: string): Promise<unknown> | undefined => {
  if (scopes.get(client) === scope) return undefined
  scopes.set(client, scope)
  return client
    .query({
      name: 'scope',
      text: "select set_config('sidevault.tenant', $1, false)",
      values: [scope],
    })
    .catch((thrown: unknown) => {
      forgetScope(client)
      throw thrown
    })
}

/**
 * The second tenant wall: with it, a statement that forgot to name the tenant meets no row of another one. It binds the
 * owner too. Where nothing was entered, nothing is met.
 */
export const wallOf = (table: string, column: string): readonly string[] => {
  const scope = "(select current_setting('sidevault.tenant', true))"
  // Half of the rows, guesses the planner of a `case`; of an `or` hardly any, and then it sorts all instead of walking an index.
  const inside = `(case when ${scope} = '${SERVICE}' then true else ${column} = ${scope} end)`
  return [
    `alter table ${table} enable row level security`,
    `alter table ${table} force row level security`,
    `drop policy if exists sidevault_tenant on ${table}`,
    `create policy sidevault_tenant on ${table} using ${inside} with check ${inside}`,
  ]
}
