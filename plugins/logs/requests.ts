import {
  cursorPage,
  cursorQuery,
  defineOperation,
  field,
  invalid,
  isoTime,
  listOf,
  PAGE_SIZE,
  type PluginContext,
  pageOf,
  type RecentRequest,
  type Static,
  Type,
} from '#sdk'
import * as examples from './examples.ts'

const Named = Type.Object(
  {
    id: Type.String({ field: 1 }),
    name: Type.Optional(Type.String({ field: 2, description: 'Absent: it was deleted.' })),
  },
  { title: 'RequestParty' },
)

const optional = <T extends Parameters<typeof Type.Optional>[0]>(number: number, schema: T) =>
  Type.Optional(field(number, schema))

/** Most calls of a page, as of logs (completions §3). */
const MOST = 1_000

/** A call, as `GET /requests` shows it (completions §16). */
export const RequestOutput = Type.Object(
  {
    id: Type.String({ field: 1 }),
    trace_id: Type.String({ field: 2 }),
    at: Type.String({ format: 'date-time', field: 3, description: 'Its end.' }),
    kind: Type.Enum(['proxy', 'api', 'connect'], { field: 4 }),
    application: optional(5, Named),
    method: Type.String({ field: 6 }),
    route: Type.String({ field: 7 }),
    proxy: optional(8, Named),
    host: optional(9, Type.String({ description: 'The destination.' })),
    status: optional(
      10,
      Type.Integer({ description: "Absent: a destination's response that passed without a transform." }),
    ),
    destination_status: optional(11, Type.Integer()),
    code: optional(12, Type.String({ description: 'Of the error.' })),
    duration_ms: Type.Number({
      field: 13,
      description: 'Of a forwarded call: until it left, or until its response was transformed.',
    }),
    stages: Type.Record(Type.String(), Type.Number(), { field: 14, description: 'Milliseconds.' }),
    tokens: Type.Integer({ field: 15 }),
    request_bytes: optional(16, Type.Integer()),
    response_bytes: optional(17, Type.Integer()),
    node: Type.String({ field: 18, description: 'The process that served it.' }),
    outcome: Type.Enum(['responded', 'forwarded', 'dry_run', 'interrupted', 'opened', 'tunneled'], {
      field: 19,
    }),
  },
  { title: 'RecentRequest' },
)

type Position = Pick<RecentRequest, 'at' | 'id'>

const cursorOf = ({ at, id }: Position): string => Buffer.from(`${at} ${id}`).toString('base64url')

const positionOf = (start: string): Position => {
  const [, at, id] = /^(\d+) (\S*)$/.exec(Buffer.from(start, 'base64url').toString()) ?? []
  if (at === undefined || id === undefined)
    throw invalid({ start: ['must be the "next" of an earlier page'] })
  return { at: Number(at), id }
}

const known = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

/** The newest calls of the tenant. */
export const requestOperations = (kernel: PluginContext) => {
  const shown = async (
    tenantId: string,
    { applicationId, proxyId, ...request }: RecentRequest,
  ): Promise<Static<typeof RequestOutput>> => {
    const [application, proxy] = await Promise.all([
      applicationId === undefined ? undefined : kernel.port('applications')?.get(tenantId, applicationId),
      proxyId === undefined ? undefined : kernel.port('proxies')?.nameOf(tenantId, proxyId),
    ])
    const { id, traceId, at, kind, method, route, host, outcome, stages, tokens, node } = request
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
      }),
    }
  }

  return [
    defineOperation({
      rpc: 'Requests.List',
      http: 'GET /requests',
      summary: 'List the newest calls to this node, newest first',
      description:
        "Of the proxy, the forward proxy and the API, by the processes of this node: each retains 10,000 in memory. Calls that were not identified as the tenant's are left out.",
      permission: 'log:read',
      audit: 'none',
      input: Type.Object({
        start: cursorQuery.start,
        size: Type.Optional(
          Type.Integer({ minimum: 1, maximum: MOST, default: PAGE_SIZE.default, field: 2 }),
        ),
      }),
      output: listOf(RequestOutput),
      examples: examples.requests,
      run: async ({ start, size: asked }, { caller: { tenantId } }) => {
        const { size } = pageOf({ size: asked })
        const before = start === undefined ? undefined : positionOf(start)
        const found = await kernel.requests({ tenantId, before, limit: size + 1 })
        const page = found.slice(0, size)
        const last = page.at(-1)
        const next = found.length > size && last !== undefined ? cursorOf(last) : undefined
        return cursorPage(await Promise.all(page.map((one) => shown(tenantId, one))), size, next)
      },
    }),
  ]
}
