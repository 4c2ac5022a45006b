import { CALL, EVENT } from '../../../src/audit/line.ts'
import type { AuditRecord } from '../../../src/audit/types.ts'
import { AppError } from '../../../src/common/errors.ts'
import { deniedRecord as deniedCall, titled } from '../../../src/kernel/invoke/audit.ts'
import type { Operation, UseContext } from '../../../src/sdk/index.ts'
import { deniedRecord as deniedToken } from '../../../src/vault/audit-records.ts'
import { createTokenTypes } from '../../../src/vault/token-types.ts'
import { code, type Page, page, table } from './markdown.ts'
import { builtIn } from './permissions.ts'

const MEANING: Readonly<Record<keyof AuditRecord, string>> = {
  tenant_id: 'Tenant that owns the entity.',
  entity_type: 'Token type or resource.',
  entity_id:
    'Id within the entity type; empty for a denied create or list, and for a search by `data` that matched no token.',
  operation: 'The operation that was done, or denied.',
  actor_id: 'Application or session; null for anonymous callers and operators.',
  actor_type:
    '`application`, `session` or `operator` (a command on the machine); null for anonymous callers.',
  message: 'For people, at most 250 characters.',
  trace_id: 'Trace id of the call.',
  created_at: 'Milliseconds since 1970 (UTC).',
  token_seq: 'Number of the token, for usage reports; null for others.',
  surfaces:
    'Places in a proxied request that the value was put into, one a line; null or absent in other records.',
  disclosure:
    'Of a token that was read or used: `redact`, `mask` or `reveal`; `match`: that a search by `data` finds it. Absent from other records, and from those of 0.2.0.',
  labels:
    'Of a record with `check`: JSON object of the labels that a plugin gave the call. Absent from others.',
}

/** What a token's records say (src/vault/audit-records.ts). */
const OF_TOKENS = ['create', 'read', 'update', 'delete', 'use']

/** Records that no operation declares, and the files that write them (compared by test/docs/reference.test.ts). */
export const UNDECLARED = [
  { path: 'src/gateway/request-record.ts', entity: 'proxy', operations: ['use', 'read', 'check', 'outcome'] },
  { path: 'src/gateway/guard/record-findings.ts', entity: 'token', operations: ['guard'] },
  { path: 'src/roles/maintenance.ts', entity: 'application', operations: ['create'] },
  { path: 'src/roles/maintenance.ts', entity: 'application_key', operations: ['create', 'delete'] },
  { path: 'src/roles/maintenance.ts', entity: 'tenant', operations: ['create', 'delete'] },
  { path: 'src/maintenance/delegations.ts', entity: 'tenant', operations: ['update'] },
  { path: 'src/maintenance/export-tenant.ts', entity: 'tenant', operations: ['update'] },
  { path: 'src/maintenance/import-tenant.ts', entity: 'tenant', operations: ['update'] },
  { path: 'src/maintenance/rotate-data.ts', entity: 'tenant', operations: ['update'] },
  { path: 'src/maintenance/backup.ts', entity: 'service', operations: ['update'] },
  { path: 'src/maintenance/ca.ts', entity: 'service', operations: ['update'] },
  { path: 'src/maintenance/rotate-root.ts', entity: 'service', operations: ['update'] },
  { path: 'src/audit/acknowledged-loss.ts', entity: 'journal', operations: ['acknowledge_loss'] },
  { path: 'plugins/console/sessions.ts', entity: 'console_session', operations: ['create', 'delete'] },
  { path: 'plugins/reactors/async-invocations.ts', entity: 'reactor', operations: ['read'] },
  { path: 'plugins/reactors/callbacks.ts', entity: 'reactor', operations: ['use'] },
  { path: 'plugins/webhooks/delivery.ts', entity: 'webhook', operations: ['disable'] },
]

const CONTEXT: UseContext = {
  caller: { tenantId: '-', actorId: '-', actorType: 'application', grants: { permissions: [], rules: [] } },
  traceId: '-',
  now: 0,
}

export const auditFormat: Page = {
  name: 'audit-format',
  text: async () => {
    const { entityTypes, tokenTypes, operations } = await builtIn()
    const values = (names: readonly (keyof AuditRecord)[]) =>
      table(
        ['#', 'Value', 'Meaning'],
        names.map((name, at) => [String(at + 1), code(name), MEANING[name]]),
      )
    const verbsOf = (entity: string) => [
      ...operations.flatMap(({ audit }) => (audit !== 'none' && audit.entity === entity ? [audit.verb] : [])),
      ...UNDECLARED.flatMap((each) => (each.entity === entity ? each.operations : [])),
    ]
    const known = new Set(entityTypes.map(({ value }) => value))
    const ofService = [...new Set(UNDECLARED.map(({ entity }) => entity))].filter((each) => !known.has(each))
    const rows = [...entityTypes, ...ofService.map((value) => ({ value, display_name: titled(value) }))].map(
      ({ value, display_name }) => [
        code(value),
        display_name,
        [...new Set(tokenTypes.has(value) ? [...OF_TOKENS, ...verbsOf(value)] : verbsOf(value))]
          .map(code)
          .join(', ') || 'denied calls only',
      ],
    )
    const read = operations.find(({ http }) => http === 'GET /proxies/{id}') as Operation
    const types = createTokenTypes(() => tokenTypes)
    const denied = [
      ['of the management API, for lack of a permission', deniedCall(read, {}, CONTEXT)?.message ?? ''],
      ['to a token', deniedToken({ types }, { id: '', type: 'card' }, 'use', CONTEXT, 0).message],
      [
        'of `/proxy` or the forward proxy',
        `Proxy call denied: ${new AppError('forbidden', '').toProblem().title}`,
      ],
      ['by a check of a plugin', 'Proxy call denied: check "business-hours", outside_hours'],
    ].map(([call = '', message = '']) => [call, code(message)])
    return page(
      'Audit format',
      `Each process writes a journal, \`<data directory>/audit/<process>.<number>.jsonl\`. The admin process copies the records into the
store a moment later, where \`GET /logs\` reads them. \`sidevault audit verify\` checks the files, \`sidevault audit verify --rows\` the store.`,
      'A journal has one JSON object a line, for the records of one call:',
      '```json\n{"seq":7,"call":["<tenant>","<application>","application","<trace id>"],"records":[["proxy","<proxy>","use","Proxy used",1800000000000,null],["card","<token>","use","Card used",1800000000000,42,"body","reveal"]],"hash":"<64 hex digits>"}\n```',
      `Records count from 1 without a gap. \`seq\` is the number of the last record of the line. \`hash\` is HMAC-SHA256, under the audit
key of the vault (of a gateway with a delegated key: one derived from it), over the previous hash and the line up to its own hash. The hash before
the first line is that of the journal's name. A line
has at most 100 records and 16 KiB. The store has a row for each record, with its number and the hash of its line.`,
      '`call` holds what the records of the line share, in this order; new values are added at the end:',
      values(CALL),
      'Each of `records` holds:',
      values(EVENT),
      'Entity types, and the operations that their records name. `GET /logs/entity-types` lists those of plugins too.',
      table(['Entity type', 'Name', 'Operations'], rows),
      `Records of ${ofService.map(code).join(' and ')} belong to no tenant: their \`tenant_id\` is empty, and \`GET /logs\` does not list them.`,
      `A call that was denied (403) has the operation that was denied. Its message depends on what denied it, for example:`,
      table(['Denied call', 'Message'], denied),
      `A proxied call has a record of its proxy (or application) and one with \`use\` for each token; a dry run has \`read\`. A
check of a plugin that gives the call labels has one with \`check\`. Each token whose value the response guard found in a response has one with \`guard\`, of the entity type \`token\` whatever its type. Reading
logs leaves no record.`,
    )
  },
}
