/**
 * Envoy's local replies in the form of completions §2: `{ "proxy_error": … }` for the proxy, the plain problem
 * elsewhere, always as `application/json; charset=utf-8` with the trace id. The first matching mapper applies.
 */
import { CONSOLE_API } from '../common/console.ts'
import { ERRORS, type ErrorCode, problemOf } from '../common/errors.ts'
import { TRACE_ID_LENGTH, TRACE_ID_PATTERN } from '../common/trace-id.ts'
import { METADATA, PROXY_METHODS, prefixHeaders } from '../ext-proc/contract.ts'
import type { Settings } from './options.ts'
import { ROUTES } from './route-names.ts'

type Filter = Readonly<Record<string, unknown>>

const CEL = 'type.googleapis.com/envoy.extensions.access_loggers.filters.cel.v3.ExpressionFilter'

const cel = (expression: string): Filter => ({
  extension_filter: {
    name: 'envoy.access_loggers.extension_filters.cel',
    typed_config: { '@type': CEL, expression },
  },
})
const flags = (...list: string[]): Filter => ({ response_flag_filter: { flags: list } })
const status = (op: 'EQ' | 'GE', value: number): Filter => ({
  status_code_filter: {
    comparison: { op, value: { default_value: value, runtime_key: `sidevault.${value}` } },
  },
})
const all = (...filters: Filter[]): Filter =>
  filters.length === 1 ? (filters[0] as Filter) : { and_filter: { filters } }
const any = (...filters: Filter[]): Filter =>
  filters.length === 1 ? (filters[0] as Filter) : { or_filter: { filters } }
const metadata = (key: string, value: object): Filter => ({
  metadata_filter: {
    match_if_key_not_found: false,
    matcher: { filter: METADATA, path: [{ key }], value },
  },
})
const metadataPresent = (key: string) => metadata(key, { present_match: true })
const present = (name: string): Filter => ({ header_filter: { header: { name, present_match: true } } })
const anyOf = (member: string, starts: readonly string[]) =>
  starts.map((start) => `${member}.startsWith('${start}')`).join(' || ')

const DETAILS = 'response.code_details'
const GATEWAY_ERRORS = [
  'ext_proc_error',
  'spurious_message',
  'header_mutation',
  'mismatch_between',
  'unhandled_message',
]

interface Rule {
  readonly when: Filter
  readonly code: ErrorCode
  /** Absent: Envoy's own status. */
  readonly status?: number
  readonly detail: string
  readonly allow?: string
}

const rule = (when: Filter, code: ErrorCode, detail: string): Rule => ({
  when,
  code,
  status: ERRORS[code].status,
  detail,
})

const FORBIDDEN =
  'The address of the destination is not allowed. Ask the operator of this gateway to allow its network.'
const HELD = 'The gateway could not complete the request; nothing was forwarded. Retry.'
const RELEASED =
  'The gateway could not complete the response. The destination may have processed the request.'
const METHODS = 'The proxy supports GET, POST, PUT, PATCH and DELETE. Use one of them.'
const GATEWAY_ROUTES = [ROUTES.hold, ROUTES.pending, ROUTES.stream]

const SHARED: readonly Rule[] = [
  rule(
    any(flags('UO', 'OM', 'DO'), status('EQ', 503)),
    'overloaded',
    'The gateway is at capacity. Retry later.',
  ),
  rule(
    // A request with `grpc-timeout` has 504 of Envoy.
    any(flags('SI', 'DT'), status('EQ', 408), cel(`${DETAILS} == 'max_duration_timeout'`)),
    'destination_timeout',
    'The request was not complete within the time limit, or within its grpc-timeout. Send it again, faster.',
  ),
  rule(status('EQ', 413), 'too_large', 'The body is too large. Send a smaller one.'),
  rule(status('EQ', 431), 'headers_too_large', 'The request has too many or too large headers. Send fewer.'),
  {
    when: status('EQ', 426),
    code: 'malformed',
    detail: 'This version of HTTP is not supported. Use HTTP/1.1 or HTTP/2.',
  },
  rule(
    status('EQ', 501),
    'malformed',
    'The transfer coding is not supported. Send the body with a content-length, or chunked only.',
  ),
  rule(status('GE', 500), 'gateway_timeout', 'A component of the service does not respond. Retry.'),
  rule(status('EQ', 404), 'not_found', 'No such route. See /docs.'),
  {
    when: status('GE', 400),
    code: 'malformed',
    detail: 'The request is not valid HTTP for this service. Check its request line and headers.',
  },
]

const upgrade = rule(
  cel(`${DETAILS} == 'upgrade_failed'`),
  'malformed',
  'Protocol upgrades are not supported. Send the request without an "upgrade" header.',
)

/** Envoy requires a content type for the method QUERY (RFC 10008) before any route can respond with 405. */
const QUERY_WITHOUT_TYPE = cel(`${DETAILS} == 'query_missing_content_type'`)

const PROXY: readonly Rule[] = [
  rule(cel(`${DETAILS}.contains('address_denied')`), 'destination_not_allowed', FORBIDDEN),
  rule(cel(`${DETAILS}.startsWith('rbac_access_denied')`), 'destination_not_allowed', FORBIDDEN),
  rule(all(metadataPresent('upstream'), cel(anyOf(DETAILS, GATEWAY_ERRORS))), 'gateway_timeout', RELEASED),
  rule(cel(anyOf(DETAILS, GATEWAY_ERRORS)), 'gateway_timeout', HELD),
  rule(
    cel(`${DETAILS} == 'response_payload_too_large'`),
    'bad_gateway',
    "The destination's response is too large for a transform. The destination may have processed the request.",
  ),
  rule(
    all(metadataPresent('upstream'), status('EQ', 502), cel(`${DETAILS} == ''`)),
    'bad_gateway',
    'The destination sent status 101 or an invalid status. It may have processed the request.',
  ),
  rule(
    all(flags('UH'), cel(GATEWAY_ROUTES.map((name) => `xds.route_name == '${name}'`).join(' || '))),
    'gateway_timeout',
    HELD,
  ),
  rule(cel(`xds.route_name == '${ROUTES.method}'`), 'method_not_allowed', METHODS),
  { ...rule(QUERY_WITHOUT_TYPE, 'method_not_allowed', METHODS), allow: PROXY_METHODS.join(', ') },
  rule(
    flags('UT', 'UMSDR'),
    'destination_timeout',
    'The destination did not respond in time. It may have received the request.',
  ),
  rule(
    all(flags('SI'), metadataPresent('upstream')),
    'destination_timeout',
    'Neither the request nor the response made progress. The destination may have received the request.',
  ),
  rule(cel(`${DETAILS} == 'cluster_not_found'`), 'gateway_timeout', HELD),
  rule(
    cel(`${DETAILS}.startsWith('dns_cache')`),
    'overloaded',
    'The gateway has no capacity for more DNS lookups. Retry later.',
  ),
  rule(
    cel(`${DETAILS}.startsWith('dns_resolution_failure')`),
    'destination_unreachable',
    "The destination's host name could not be resolved. Check the URL, or retry later.",
  ),
  rule(
    flags('UPE'),
    'bad_gateway',
    "The destination's response is not valid HTTP. The destination may have processed the request.",
  ),
  rule(
    flags('UF', 'UC', 'UR', 'LR', 'UH', 'URX', 'NC'),
    'destination_unreachable',
    'The destination is unreachable, has an invalid certificate, or closed the connection. Check the URL, or retry later.',
  ),
  upgrade,
  ...SHARED,
]

const API: readonly Rule[] = [
  {
    ...rule(
      cel(`xds.route_name == '${ROUTES.connect}'`),
      'method_not_allowed',
      'CONNECT is not supported. Send the request without a tunnel.',
    ),
    allow: PROXY_METHODS.join(', '),
  },
  {
    ...rule(QUERY_WITHOUT_TYPE, 'method_not_allowed', 'No route supports QUERY. See /docs.'),
    allow: PROXY_METHODS.join(', '),
  },
  rule(
    flags('UT', 'UMSDR', 'UF', 'UC', 'UR', 'LR', 'UPE', 'UH', 'URX', 'NC'),
    'gateway_timeout',
    'A component of the service does not respond. Retry.',
  ),
  upgrade,
  ...SHARED,
]

const FORWARD: readonly Rule[] = [
  rule(
    cel(`xds.route_name == '${ROUTES.noConnect}'`),
    'forbidden',
    'The forward proxy takes CONNECT only. Send requests to https:// URLs through it, and others to /proxy.',
  ),
  rule(
    all(flags('UH'), cel(`xds.route_name == '${ROUTES.tunnelHold}'`)),
    'gateway_timeout',
    'The gateway could not open the tunnel. Retry.',
  ),
  rule(QUERY_WITHOUT_TYPE, 'malformed', 'The method QUERY requires a content type. Send one.'),
  ...PROXY,
]

const inProxy = any(metadata('active', { bool_match: true }), metadata('console', { bool_match: true }), {
  header_filter: {
    header: {
      name: ':path',
      string_match: { safe_regex: { regex: `(${CONSOLE_API})?/proxy([/?].*)?` } },
    },
  },
})

/** The request uses this header prefix: by the gateway's metadata, or before that by its headers. */
const usesPrefix = (prefix: string): Filter => {
  const { apiKey, proxyKey, proxyUrl, traceId } = prefixHeaders(prefix)
  return any(
    metadata('prefix', { string_match: { exact: prefix } }),
    ...[apiKey, proxyKey, proxyUrl, traceId].map(present),
  )
}

const traceHeaders = (prefix: string) => {
  const key = prefixHeaders(prefix).traceId
  const sent = `request.headers['${key}']`
  const valid = `${sent}.size() <= ${TRACE_ID_LENGTH} && ${sent}.matches('${TRACE_ID_PATTERN}')`
  return [
    { header: { key, value: '%UNIQUE_ID%' }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' },
    {
      header: { key, value: `%CEL('${key}' in request.headers && ${valid} ? ${sent} : '')%` },
      append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
    },
  ]
}

const overwrite = (key: string, value: string) => ({
  header: { key, value },
  append_action: 'OVERWRITE_IF_EXISTS_OR_ADD',
})

/**
 * Envoy sends a 2xx or 3xx in reply to a WebSocket handshake itself, with the headers of the destination and no body.
 */
const failedHandshake = (prefix: string) => ({
  filter: cel(`${DETAILS} == 'websocket_handshake_unsuccessful'`),
  headers_to_add: [
    overwrite(prefixHeaders(prefix).destinationStatus, '%RESPONSE_CODE%'),
    overwrite(prefixHeaders(prefix).outcome, 'answered'),
  ],
})

/** Only present after a response of the destination. */
const destinationStatus = (prefix: string) =>
  overwrite(prefixHeaders(prefix).destinationStatus, `%DYNAMIC_METADATA(${METADATA}:destination_status)%`)

/**
 * A response came whose body was too large, or whose status `customResponse` replaces (its details are empty), or whose
 * transform failed. Else the request was sent once a connection pool had replied, unless it had no connection, or the
 * dialed address was denied.
 */
const RESPONSE_CAME = [
  `'destination_status' in metadata.filter_metadata['${METADATA}']`,
  `${DETAILS} == 'response_payload_too_large'`,
  `${DETAILS} == ''`,
].join(' || ')
const NOT_CONNECTED = ['rbac_access_denied', 'connection_failure', 'connection_timeout', 'overflow']
const SENT = ['has(upstream.cx_pool_ready_duration)']
  .concat(NOT_CONNECTED.map((part) => `!${DETAILS}.contains('${part}')`))
  .join(' && ')

const outcome = (prefix: string) =>
  overwrite(
    prefixHeaders(prefix).outcome,
    `%CEL(${RESPONSE_CAME} ? 'answered' : ${SENT} ? 'unknown' : 'not_sent')%`,
  )

const body = ({ code, detail }: Rule, wrap: boolean) => {
  const problem = { ...problemOf(code, detail), status: '%RESPONSE_CODE%' }
  return {
    json_format: wrap ? { proxy_error: problem } : problem,
    content_type: 'application/json; charset=utf-8',
  }
}

/** `HttpConnectionManager.local_reply_config`. `tunneled`: of the forward proxy, where everything is proxied. */
export const localReplies = ({ prefixes }: Settings, tunneled = false) => {
  const [canonical, ...others] = prefixes
  const family = (rules: readonly Rule[], wrap: boolean, prefix: string, when: readonly Filter[]) =>
    rules.map((rule) => ({
      filter: all(...when, rule.when),
      ...(rule.status === undefined ? {} : { status_code: rule.status }),
      headers_to_add: [
        ...traceHeaders(prefix),
        ...(wrap ? [destinationStatus(prefix), outcome(prefix)] : []),
        ...(rule.allow === undefined ? [] : [{ header: { key: 'allow', value: rule.allow } }]),
      ],
      body_format_override: body(rule, wrap),
    }))
  const prefixFilters: readonly (readonly [string, readonly Filter[]])[] = [
    ...(others.length === 0
      ? []
      : [canonical, ...others].map((prefix) => [prefix, [usesPrefix(prefix)]] as const)),
    [canonical, []],
  ]
  if (tunneled)
    return {
      mappers: [
        { filter: metadata('reply', { bool_match: true }) },
        failedHandshake(canonical),
        ...family(FORWARD, true, canonical, []),
      ],
    }
  return {
    mappers: [
      { filter: metadata('reply', { bool_match: true }) },
      ...prefixFilters.flatMap(([prefix, when]) => family(PROXY, true, prefix, [...when, inProxy])),
      ...prefixFilters.flatMap(([prefix, when]) => family(API, false, prefix, when)),
    ],
  }
}
