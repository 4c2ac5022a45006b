import type { ClientBase } from 'pg'

/** All tenants; a tenant id never contains a star. */
export const SERVICE = '*'

/** Scope of a tenant's statements. The service's own keys have the id ''. */
export const scopeOf = (tenantId: string): string => (tenantId === '' ? SERVICE : tenantId)

const scopes = new WeakMap<ClientBase, string>()

/** After a rollback or a failure the scope is unknown. */
export const forgetScope = (client: ClientBase): void => {
  scopes.delete(client)
}

/**
 * Restricts the connection to rows of this scope. Sent ahead of the next statement, without a round trip of its own;
 * undefined when the scope is already set.
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
 * Row-level security, behind the conditions of each statement: a statement without its tenant sees no rows of another
 * one. It binds the table owner too. Without a scope no row is visible.
 */
export const rowSecurityOf = (table: string, column: string): readonly string[] => {
  const scope = "(select current_setting('sidevault.tenant', true))"
  // The planner expects half of the rows for a `case`, but few for an `or`: it would sort instead of walking an index.
  const inside = `(case when ${scope} = '${SERVICE}' then true else ${column} = ${scope} end)`
  return [
    `alter table ${table} enable row level security`,
    `alter table ${table} force row level security`,
    `drop policy if exists sidevault_tenant on ${table}`,
    `create policy sidevault_tenant on ${table} using ${inside} with check ${inside}`,
  ]
}
