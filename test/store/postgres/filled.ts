import { Client } from 'pg'
import { NOW } from '../kit.ts'

/** The tenant of what is made here. */
export const TENANT = 'tenant-a'

/** A connection of the database's owner that meets the rows of `TENANT`, as statements of the store do. */
export const asTenant = async (address: string): Promise<Client> => {
  const client = new Client({ connectionString: address })
  await client.connect()
  await client.query("select set_config('sidevault.tenant', $1, false)", [TENANT])
  return client
}

/**
 * `tokens` tokens, a second apart, and `logs` logs, ten a second, by direct statements, as creates and the ingest would
 * leave them (test/store/sqlite/filled.ts): a third of the tokens in each of three containers, every other one red. Not
 * `analyzed`: the planner knows nothing of them, as right after they came.
 */
export const fill = async (
  client: Client,
  { tokens, logs, analyzed = true }: { tokens: number; logs: number; analyzed?: boolean },
): Promise<void> => {
  const run = (text: string) => client.query(text)
  if (!analyzed)
    for (const table of ['tokens', 'token_terms', 'token_metadata', 'token_counts'])
      await run(`alter table ${table} set (autovacuum_enabled = false)`)
  await run('begin')
  await run(`insert into tokens (tenant_id, id, type, container, sealed, version, metadata, fingerprint, created_by, created_at)
    select '${TENANT}', 'id-' || i, 'card', '/c' || (i % 3) || '/', decode(repeat('00', 200), 'hex'), 1,
      '{"n":"' || i || case when i % 2 = 0 then '","color":"red"}' else '"}' end, 'fp-' || i, 'application-1', ${NOW} + i * 1000 from generate_series(1, ${tokens}) as i`)
  await run(`insert into token_terms (tenant_id, term, seq)
    select tenant_id, convert_to('term-' || substr(id, 4), 'UTF8'), seq from tokens`)
  await run(
    `insert into token_metadata (tenant_id, key, value, seq) select tenant_id, 'n', substr(id, 4), seq from tokens`,
  )
  await run(`insert into token_metadata (tenant_id, key, value, seq)
    select tenant_id, 'color', 'red', seq from tokens where metadata like '%red%'`)
  await run(`insert into token_counts (tenant_id, container, type, count, last_created_at)
    select tenant_id, container, type, count(*), max(created_at) from tokens group by 1, 2, 3`)
  await run(`insert into logs (tenant_id, entity_type, entity_id, operation, message, trace_id, created_at, journal, journal_seq, hash)
    select '${TENANT}', case when i % 50 < 25 then 'card' else 'token' end, case when i % 25 = 0 then 'busy' else 'e-' || i end,
      'read', 'Card retrieved', 'trace', ${NOW} + i * 100, 'filled', i, '' from generate_series(1, ${logs}) as i`)
  await run('commit')
  if (analyzed) await run('analyze')
}
