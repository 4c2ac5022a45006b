import type { Connection } from '../../../src/store/sqlite/connection.ts'
import { NOW } from '../kit.ts'

const numbers = (from: number, to: number) =>
  `with recursive n (i) as (select ${from} union all select i + 1 from n where i < ${to - 1})`

/** The tenant of what is made here, unless another is named. */
export const TENANT = 'tenant-a'

/**
 * Tokens number `from` up to `to` by direct statements, as creates would leave them: a third of each of three
 * containers, a term and a fingerprint of its own (`term-<n>`, `fp-<n>`), metadata `n: <n>` and, every other one,
 * `color: red`; one application made them, a second apart. Nothing in them can be opened.
 */
export const fillTokens = (db: Connection, from: number, to: number, tenant = TENANT): void => {
  db.transaction(() => {
    db.exec(`insert into tokens (seq, tenant_id, id, type, container, sealed, version, metadata, fingerprint, created_by, created_at)
      ${numbers(from, to)}
      select i, '${tenant}', 'id-' || i, 'card', '/c' || (i % 3) || '/', zeroblob(200), 1, '{"n":"' || i || iif(i % 2 = 0, '","color":"red"}', '"}'),
        'fp-' || i, 'application-1', ${NOW} + i * 1000 from n`)
    db.exec(`insert into token_terms (tenant_id, term, seq)
      ${numbers(from, to)} select '${tenant}', cast('term-' || i as blob), i from n`)
    db.exec(`insert into token_metadata (tenant_id, key, value, seq)
      ${numbers(from, to)} select '${tenant}', 'n', '' || i, i from n`)
    db.exec(`insert into token_metadata (tenant_id, key, value, seq)
      ${numbers(from, to)} select '${tenant}', 'color', 'red', i from n where i % 2 = 0`)
    db.exec(`insert into token_counts (tenant_id, container, type, count, last_created_at)
      select tenant_id, container, type, count(*), max(created_at) from tokens where seq >= ${from} group by 1, 2, 3
      on conflict do update set count = count + excluded.count, last_created_at = excluded.last_created_at`)
  })()
  // What a store in use has, too.
  db.pragma('analysis_limit = 1000')
  db.exec('analyze')
}

/** `count` logs, ten a second: each of one of two types, one in 25 about one entity. */
export const fillLogs = (db: Connection, count: number): void => {
  db.transaction(() => {
    db.exec(`insert into logs (tenant_id, entity_type, entity_id, operation, message, trace_id, created_at, journal, journal_seq, hash)
      ${numbers(0, count)}
      select '${TENANT}', iif(i % 50 < 25, 'card', 'token'), iif(i % 25 = 0, 'busy', 'e-' || i), 'read', 'Card retrieved',
        'trace', ${NOW} + i * 100, 'filled', i, '' from n`)
  })()
}
