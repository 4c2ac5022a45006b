import {
  cursorPage,
  type DestinationCount,
  defineOperation,
  field,
  isoTime,
  listOf,
  type PluginContext,
  pageOf,
  type RecentRequest,
  type Static,
  Type,
} from '#sdk'
import * as examples from './examples.ts'
import { cursorOf, listQueryOf, RequestQuery } from './request-query.ts'

const Named = Type.Object(
  {
    id: Type.String({ field: 1 }),
    name: Type.Optional(Type.String({ field: 2, description: 'Absent: it was deleted.' })),
  },
  { title: 'RequestParty' },
)

const optional = <T extends Parameters<typeof Type.Optional>[0]>(number: number, schema: T) =>
  Type.Optional(field(number, schema))

const Rule = Type.Object(
  {
    permission: Type.String({ field: 1 }),
    disclosure: Type.Enum(['none', 'redact', 'mask', 'reveal'], {
      field: 2,
      description: 'What the rule says; none: the call was denied.',
    }),
    description: optional(3, Type.String()),
    priority: optional(4, Type.Integer({ description: 'Absent: a plain permission, or none, decided.' })),
    container: optional(5, Type.String()),
    tokens: Type.Integer({ field: 6 }),
  },
  { title: 'AppliedRule' },
)

/** A call, as `GET /requests` shows it (completions §16). */
const RequestOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    trace_id: Type.String({ field: 2 }),
    at: Type.String({
      format: 'date-time',
      field: 3,
      description: 'When it was forwarded, or ended before that.',
    }),
    kind: Type.Enum(['proxy', 'api', 'connect'], { field: 4 }),
    application: optional(5, Named),
    method: Type.String({ field: 6 }),
    route: Type.String({ field: 7 }),
    proxy: optional(8, Named),
    host: optional(9, Type.String({ description: 'The destination.' })),
    status: optional(
      10,
      Type.Integer({ description: 'Of the response. Absent: there was none, or it is not known yet.' }),
    ),
    destination_status: optional(11, Type.Integer()),
    code: optional(12, Type.String({ description: 'Of the error.' })),
    duration_ms: Type.Number({
      field: 13,
      description: 'Of a forwarded call: until it left.',
    }),
    stages: Type.Record(Type.String(), Type.Number(), { field: 14, description: 'Milliseconds.' }),
    tokens: Type.Integer({ field: 15 }),
    request_bytes: optional(16, Type.Integer()),
    response_bytes: optional(17, Type.Integer()),
    node: Type.String({ field: 18, description: 'The process that served it.' }),
    outcome: Type.Enum(
      ['responded', 'sent', 'answered', 'not_sent', 'unknown', 'dry_run', 'opened', 'tunneled'],
      {
        field: 19,
        description:
          'answered, not_sent, unknown: as SVC-PROXY-OUTCOME. sent: it left, and its end is not known yet. responded: a call of the API.',
      },
    ),
    rules: Type.Array(Rule, {
      field: 20,
      description: 'What decided about the tokens of the call: the first five that differ.',
    }),
    response_complete: optional(
      21,
      Type.Boolean({ description: "Whether the destination's response reached the caller to its end." }),
    ),
    total_ms: optional(
      22,
      Type.Number({ description: 'From the first byte of the request to the last byte of the response.' }),
    ),
    details: optional(
      23,
      Type.String({
        description: "Envoy's response code details: why a response did not come, or broke off.",
      }),
    ),
    flags: optional(24, Type.String({ description: "Envoy's response flags." })),
    guard: optional(
      25,
      Type.String({
        description: 'Of the response guard: `clean`, `replaced=2`, `unreadable`, … Absent: it did not look.',
      }),
    ),
    failed: Type.Boolean({
      field: 26,
      description:
        'It was rejected or not sent, its outcome is unknown, its response was cut off, or its status is a 5xx. False while that is not known.',
    }),
    console: optional(27, Type.Boolean({ description: 'A page of the console made it.' })),
  },
  { title: 'RecentRequest' },
)

/** Hosts of one response; the rest is counted together. */
const HOSTS = 100

const DestinationsOutput = Type.Object(
  {
    since: Type.String({ format: 'date-time', field: 1, description: 'What is counted began then.' }),
    data: Type.Array(
      Type.Object(
        {
          host: Type.String({ field: 1, description: '`*`: all others.' }),
          calls: Type.Integer({ field: 2 }),
          tokens: Type.Integer({ field: 3, description: 'A token counts in each call.' }),
        },
        { title: 'DestinationCount' },
      ),
      { field: 2 },
    ),
  },
  { title: 'DestinationCounts' },
)

const isRest = ({ host }: DestinationCount): boolean => host === '*'

/** Hosts with the most tokens first, those beyond `HOSTS` and the rest as the last. */
const mostFirst = (counts: readonly DestinationCount[]): DestinationCount[] => {
  const named = counts
    .filter((destination) => !isRest(destination))
    .sort((a, b) => b.tokens - a.tokens || b.calls - a.calls)
  const rest = [...named.slice(HOSTS), ...counts.filter(isRest)]
  const sum = (of: 'calls' | 'tokens') => rest.reduce((all, destination) => all + destination[of], 0)
  const others = rest.length === 0 ? [] : [{ host: '*', calls: sum('calls'), tokens: sum('tokens') }]
  return [...named.slice(0, HOSTS), ...others]
}

const known = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** Calls of the tenant that are retained. */
export const requestOperations = (context: PluginContext) => {
  const shown = async (
    tenantId: string,
    { applicationId, proxyId, ...request }: RecentRequest,
  ): Promise<Static<typeof RequestOutput>> => {
    const [application, proxy] = await Promise.all([
      applicationId === undefined ? undefined : context.port('applications')?.get(tenantId, applicationId),
      proxyId === undefined ? undefined : context.port('proxies')?.nameOf(tenantId, proxyId),
    ])
    const { id, traceId, at, kind, method, route, host, outcome, stages, tokens, rules, node } = request
    return {
      id,
      trace_id: traceId,
      at: isoTime(at),
      kind,
      method,
      route: route.replaceAll(/:(\w+)/g, '{$1}'),
      outcome,
      duration_ms: Math.round(request.durationMs * 1_000) / 1_000,
      stages: { ...stages },
      tokens,
      failed: request.failed,
      rules: rules.map(({ permission, disclosure, tokens, ...rule }) => ({
        permission,
        disclosure,
        tokens,
        ...known(rule),
      })),
      node,
      ...known({
        application: applicationId && known({ id: applicationId, name: application?.name }),
        proxy: proxyId && known({ id: proxyId, name: proxy }),
        host,
        status: request.status,
        destination_status: request.destinationStatus,
        code: request.code,
        request_bytes: request.requestBytes,
        response_bytes: request.responseBytes,
        response_complete: request.complete,
        total_ms: request.totalMs,
        details: request.details || undefined,
        flags: request.flags || undefined,
        guard: request.guard,
        console: request.isConsole || undefined,
      }),
    }
  }

  return [
    defineOperation({
      rpc: 'Requests.List',
      http: 'GET /requests',
      summary: 'List the newest calls to this node, newest first',
      description:
        "Of the proxy, the forward proxy and the API, by the processes of this node: each retains 10,000 in memory, and filters are about all of them. Calls that were not identified as the tenant's are left out, and calls of the console's own pages unless asked for.",
      permission: 'log:read',
      audit: 'none',
      input: RequestQuery,
      output: listOf(RequestOutput),
      examples: examples.requests,
      run: async (query, { caller: { tenantId } }) => {
        const { size } = pageOf(query)
        const asked = listQueryOf(query)
        const requests = await context.requests({ ...asked, tenantId, limit: size + 1 })
        const page = requests.slice(0, size)
        const last = page.at(-1)
        const next = requests.length > size && last !== undefined ? cursorOf(last, asked.sort) : undefined
        return cursorPage(await Promise.all(page.map((request) => shown(tenantId, request))), size, next)
      },
    }),
    defineOperation({
      rpc: 'Requests.Destinations',
      http: 'GET /requests/destinations',
      summary: 'Count the calls of the last 24 hours that took values of tokens to a destination',
      description:
        'Of the proxy and the forward proxy, by the processes of this node, since they were started at most. The 200 hosts that a tenant calls first in an hour are counted by themselves.',
      permission: 'log:read',
      audit: 'none',
      input: Type.Object({}),
      output: DestinationsOutput,
      examples: examples.destinations,
      run: async (_, { caller: { tenantId } }) => {
        const { since, destinations } = await context.destinations(tenantId)
        return { since: isoTime(since), data: mostFirst(destinations) }
      },
    }),
  ]
}
