import { CALL, EVENT } from '../../../src/audit/line.ts'
import type { AuditRecord } from '../../../src/audit/types.ts'
import { code, type Page, page, table } from './markdown.ts'
import { builtIn } from './permissions.ts'

const MEANING: Readonly<Record<keyof AuditRecord, string>> = {
  tenant_id: 'Tenant that owns the entity.',
  entity_type: 'Token type or resource.',
  entity_id: 'Id within the entity type; empty for a denied create.',
  operation: 'What was done, or denied.',
  actor_id: 'Application or session; null for anonymous callers.',
  actor_type: 'Kind of actor, or null.',
  message: 'For people, at most 250 characters. `Denied: …` for denied calls.',
  trace_id: 'Trace id of the call.',
  created_at: 'Milliseconds since 1970 (UTC).',
  token_seq: 'Number of the token, for usage reports; null for others.',
  surfaces: 'Places in a proxied request that the value was put into, one a line. Absent from other records.',
}

/** What a token's records say (src/vault/audit-records.ts). */
const OF_TOKENS = ['create', 'read', 'update', 'delete', 'use']

export const auditFormat: Page = {
  name: 'audit-format',
  text: async () => {
    const { entityTypes, tokenTypes, operations } = await builtIn()
    const values = (names: readonly (keyof AuditRecord)[]) =>
      table(
        ['#', 'Value', 'Meaning'],
        names.map((name, at) => [String(at + 1), code(name), MEANING[name]]),
      )
    const verbsOf = (entity: string) =>
      operations.flatMap(({ audit }) => (audit !== 'none' && audit.entity === entity ? [audit.verb] : []))
    const rows = entityTypes.map(({ value, display_name }) => [
      code(value),
      display_name,
      [...new Set(tokenTypes.has(value) ? OF_TOKENS : verbsOf(value))].map(code).join(', ') ||
        'denied calls only',
    ])
    return page(
      'Audit format',
      `Each process writes a journal, \`<data directory>/audit/<process>.<number>.jsonl\`. The admin process copies the records into the
store a moment later, where \`GET /logs\` reads them. \`sidevault audit verify\` checks the files, \`sidevault audit verify --rows\` the store.`,
      'A journal has one JSON object a line, for the records of one call:',
      '```json\n{"seq":7,"call":["<tenant>","<application>","application","<trace id>"],"records":[["proxy","<proxy>","use","Proxy used",1800000000000,null],["card","<token>","use","Card used",1800000000000,42,"body"]],"hash":"<64 hex digits>"}\n```',
      `Records count from 1 without a gap. \`seq\` is the number of the last record of the line. \`hash\` is HMAC-SHA256, under the audit
key of the vault, over the previous hash and the line up to its own hash. The hash before the first line is that of the journal's name. A line
has at most 100 records and 16 KiB. The store has a row for each record, with its number and the hash of its line.`,
      '`call` holds what the records of the line share, in this order; new values are added at the end:',
      values(CALL),
      'Each of `records` holds:',
      values(EVENT),
      'Entity types, and the operations that their records name. `GET /logs/entity-types` lists those of plugins too.',
      table(['Entity type', 'Name', 'Operations'], rows),
      `A denied call has the operation that was denied, and a message that begins with \`Denied\`. A proxied call has a record of its proxy
(or application) and one with \`use\` for each token. Reading logs leaves no record.`,
    )
  },
}
