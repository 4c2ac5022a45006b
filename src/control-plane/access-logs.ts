/** Access logs: failures as lines on standard error, and to the gateway how each of its calls ended. */
import { METADATA, prefixHeaders } from '../ext-proc/contract.ts'
import type { Settings } from './options.ts'
import { logCluster } from './route-names.ts'

const STDERR = 'type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StderrAccessLog'
const GRPC = 'type.googleapis.com/envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig'

/** Response flags of upstream failures, without disconnects of callers. */
const UPSTREAM_FAILURES = [
  'DF',
  'UF',
  'UC',
  'UH',
  'UO',
  'UR',
  'URX',
  'UT',
  'UPE',
  'LR',
  'NC',
  'OM',
  'SI',
  'DT',
]

const failures = {
  or_filter: {
    filters: [
      {
        status_code_filter: {
          comparison: { op: 'GE', value: { default_value: 500, runtime_key: 'access_log.status' } },
        },
      },
      { response_flag_filter: { flags: UPSTREAM_FAILURES } },
    ],
  },
}

/** `whenAbsent`: whether it matches a request without this metadata. */
const withMetadata = (key: string, value: object, whenAbsent: boolean) => ({
  metadata_filter: {
    match_if_key_not_found: whenAbsent,
    matcher: { filter: METADATA, path: [{ key }], value },
  },
})

/** Errors that are no replies of the gateway, which logs its own. */
const rejections = {
  and_filter: {
    filters: [
      {
        status_code_filter: {
          comparison: { op: 'GE', value: { default_value: 400, runtime_key: 'access_log.rejected' } },
        },
      },
      withMetadata('reply', { bool_match: false }, true),
    ],
  },
}

const stderrLog = (filter: object | undefined, fields: Readonly<Record<string, string>>) => ({
  name: 'envoy.access_loggers.stderr',
  ...(filter === undefined ? {} : { filter }),
  typed_config: {
    '@type': STDERR,
    log_format: {
      json_format: {
        process: 'envoy',
        time: '%START_TIME%',
        route: '%ROUTE_NAME%',
        status: '%RESPONSE_CODE%',
        flags: '%RESPONSE_FLAGS%',
        details: '%RESPONSE_CODE_DETAILS%',
        reason: '%UPSTREAM_TRANSPORT_FAILURE_REASON%',
        ms: '%DURATION%',
        ...fields,
      },
    },
  },
})

/**
 * Access log of failures after the gateway released a request. No paths, queries, headers or hosts (completions §12).
 */
export const accessLog = ({ prefixes: [prefix, other = prefix], accessLog: which = 'failures' }: Settings) =>
  stderrLog(which === 'failures' ? failures : undefined, {
    trace_id: `%REQ(${prefixHeaders(prefix).traceId}?${prefixHeaders(other).traceId}):200%`,
  })

/**
 * Access log of CONNECT: failures, and what Envoy itself rejects. The trace id is that of the response, if that has
 * one.
 */
export const connectLog = ({ prefixes: [prefix], accessLog: which = 'failures' }: Settings) => {
  const { traceId } = prefixHeaders(prefix)
  const filter = { or_filter: { filters: [...failures.or_filter.filters, rejections] } }
  return stderrLog(which === 'failures' ? filter : undefined, {
    operation: 'connect',
    trace_id: `%CEL('${traceId}' in response.headers ? response.headers['${traceId}'] : request.headers['${traceId}']):200%`,
  })
}

/** Entries that a gateway process gets together, and how long it waits for them. */
const BATCH = { buffer_flush_interval: '0.25s', buffer_size_bytes: 65_536 }

/**
 * How its calls ended, for each gateway process: a released call passes it by. Calls to which it responded itself are
 * left out. Of those that end while it is away it gets a batch at most, once it is back.
 */
export const callLogs = ({ prefixes, gatewayLogSockets = [] }: Settings) =>
  gatewayLogSockets.map((_, worker) => ({
    name: 'envoy.access_loggers.http_grpc',
    filter: {
      and_filter: {
        filters: [
          withMetadata('worker', { string_match: { exact: String(worker) } }, false),
          withMetadata('reply', { bool_match: false }, true),
        ],
      },
    },
    typed_config: {
      '@type': GRPC,
      common_config: {
        log_name: 'calls',
        transport_api_version: 'V3',
        grpc_service: { envoy_grpc: { cluster_name: logCluster(worker), skip_envoy_headers: true } },
        custom_tags: [{ tag: 'flags', value: '%RESPONSE_FLAGS%' }],
        ...BATCH,
      },
      additional_response_headers_to_log: prefixes
        .map(prefixHeaders)
        .flatMap(({ outcome, destinationStatus }) => [outcome, destinationStatus]),
    },
  }))
