import t from 'tap'
import { isObject } from '../../../src/common/json.ts'
import type { Example, Operation } from '../../../src/sdk/index.ts'
import { startTestService } from '../../kit/service.ts'
import { openInThread } from '../../kit/store-in-thread.ts'

const { kernel } = await startTestService(t, { openStore: openInThread })

const shownBy = (rpc: string, kind: 'input' | 'output'): unknown[] => {
  const operation = kernel.registry.operations.find((candidate: Operation) => candidate.rpc === rpc)
  if (operation === undefined) throw new Error(`no operation ${rpc}`)
  const succeeding = (operation.examples ?? []).filter((example: Example) => 'output' in example)
  return succeeding.map((example) =>
    kind === 'input' ? example.input : (example as { readonly output: unknown }).output,
  )
}

/** All values at a path of members; `*` is every item or member. */
const valuesAt = (values: readonly unknown[], path: string): unknown[] =>
  path.split('.').reduce<unknown[]>(
    (values, step) =>
      values.flatMap((value) => {
        if (step === '') return [value]
        if (step === '*') return Object.values(value ?? {})
        return isObject(value) && step in value ? [value[step]] : []
      }),
    [...values],
  )

/**
 * The interface's tables, "Resources and their fields" and "Endpoints": where an example shows the resource, and the
 * fields it has.
 */
const TABLES: readonly (readonly [
  resource: string,
  rpc: string,
  kind: 'input' | 'output',
  path: string,
  fields: string,
])[] = [
  [
    'Token (request definition)',
    'Tokens.Create',
    'input',
    '',
    'type data metadata search_indexes fingerprint_expression',
  ],
  ['Card data', 'Tokens.Create', 'input', 'data', 'number expiration_month expiration_year cvc'],
  [
    'Token (response)',
    'Tokens.Create',
    'output',
    '',
    'id tenant_id type data mask metadata search_indexes fingerprint_expression containers created_by created_at',
  ],
  ['Token mask', 'Tokens.Tokenize', 'output', 'result.mask', 'number expiration_month expiration_year'],
  [
    'Tenant',
    'Tenants.Update',
    'output',
    '',
    'id owner_id name settings created_by created_at modified_by modified_at',
  ],
  ['Tenant Settings', 'Tenants.Get', 'output', 'settings', 'fingerprint_tokens deduplicate_tokens'],
  ['Update tenant', 'Tenants.Update', 'input', '', 'name settings'],
  [
    'Token Report',
    'Tenants.GetUsage',
    'output',
    'token_report',
    'metrics_by_type included_monthly_active_tokens monthly_active_tokens',
  ],
  ['Token types', 'Tenants.GetUsage', 'output', 'token_report.metrics_by_type', 'token card bank'],
  [
    'Token Type Metrics',
    'Tenants.GetUsage',
    'output',
    'token_report.metrics_by_type.*',
    'count last_created_at',
  ],
  [
    'Log',
    'Logs.List',
    'output',
    'data.*',
    'tenant_id actor_id actor_type entity_type entity_id operation message created_at',
  ],
  ['List logs', 'Logs.List', 'input', '', 'entity_type entity_id start_date end_date'],
  ['Entity Type', 'Logs.ListEntityTypes', 'output', 'entity_types.*', 'display_name value'],
  [
    'Proxy',
    'Proxies.Create',
    'output',
    '',
    'id key name destination_url tenant_id require_auth request_transform response_transform application_id configuration created_by created_at',
  ],
  ['Proxy, changed', 'Proxies.Update', 'output', '', 'modified_by modified_at'],
  ['Proxy Transform', 'Proxies.Create', 'output', 'request_transform', 'code'],
  ['Proxy Transform', 'Proxies.Create', 'output', 'response_transform', 'code'],
  [
    'Create proxy',
    'Proxies.Create',
    'input',
    '',
    'name destination_url request_transform response_transform application configuration require_auth',
  ],
  ['Create Session Response', 'Sessions.Create', 'output', '', 'session_key nonce expires_at'],
  ['Authorize session', 'Sessions.Authorize', 'input', '', 'nonce permissions rules expires_at'],
  [
    'Reactor Formula',
    'ReactorFormulas.Update',
    'output',
    '',
    'id name description type status icon code configuration request_parameters created_at modified_at created_by modified_by',
  ],
  [
    'Create formula',
    'ReactorFormulas.Create',
    'input',
    '',
    'name description type icon code configuration request_parameters',
  ],
  ['Configuration Element', 'ReactorFormulas.Create', 'output', 'configuration.*', 'name description type'],
  [
    'Request Parameter Element',
    'ReactorFormulas.Create',
    'output',
    'request_parameters.*',
    'name description type optional',
  ],
]

t.test('an example of each resource shows every field that the interface gives it', async (t) => {
  for (const [resource, rpc, kind, path, fields] of TABLES) {
    const shown = valuesAt(shownBy(rpc, kind), path)
    const members = new Set(shown.flatMap((value) => Object.keys(isObject(value) ? value : {})))
    for (const field of fields.split(' ')) t.ok(members.has(field), `${resource}: ${field} (${rpc})`)
  }
})

t.test('both kinds of list have example pages, one with a next page among them', async (t) => {
  const pages = valuesAt(
    [...shownBy('Tokens.List', 'output'), ...shownBy('Tokens.ListByCursor', 'output')],
    'pagination',
  )
  const members = new Set(pages.flatMap((page) => Object.keys(page as object)))
  t.same([...members].sort(), ['next', 'page_number', 'page_size', 'total_items', 'total_pages'])
})
