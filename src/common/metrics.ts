import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import { systemClock } from './clock.ts'
import { createDestinationCounts } from './destination-counts.ts'
import { measureLag } from './event-loop-lag.ts'
import { createRequestRing } from './request-ring.ts'

/** Gauges that the Prometheus client names `_total`, which is reserved for counters. */
const MISNAMED = ['handles', 'requests', 'resources']

/** Metrics of the client that `measureLag` replaces, and an interval in which it does not measure them. */
const LAGS = ['min_', 'max_', 'mean_', 'stddev_', 'p50_', 'p90_', 'p99_'].map((part) => `lag_${part}seconds`)
const MEASURED = [...LAGS, 'utilization_summary', 'utilization_histogram']
const NEVER_MS = 2 ** 31 - 1

/** From a tenth of a millisecond to half a minute, in seconds. */
export const DURATION_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10, 30,
]

/**
 * Labels are fixed names (routes, stages, types), never an id, a path, a host or a caller's value. Metrics of Node and
 * the process have the names of the client, by which dashboards find them. `node`: the name of the process.
 */
export const createMetrics = (node = 'main') => {
  const registry = new Registry()
  // Its own measurements of the event loop would wake an idle process 110 times a second.
  collectDefaultMetrics({
    register: registry,
    eventLoopMonitoringPrecision: NEVER_MS,
    eventLoopUtilizationTimeout: NEVER_MS,
  })
  for (const name of MEASURED) registry.removeSingleMetric(`nodejs_eventloop_${name}`)
  measureLag(registry)
  for (const name of MISNAMED) registry.removeSingleMetric(`nodejs_active_${name}_total`)
  return createCallMetrics(registry, node)
}

/** Metrics of calls, without those of the process, which go on until it exits. */
export const createCallMetrics = (registry: Registry, node: string) => {
  const registers = [registry]
  return {
    registry,
    /** The newest calls. */
    recent: createRequestRing(node),
    /** Where values of tokens went. */
    destinations: createDestinationCounts(systemClock.now),
    requests: new Counter({
      name: 'sidevault_requests_total',
      help: 'Requests, by operation (or "proxy") and status code.',
      labelNames: ['operation', 'status'] as const,
      registers,
    }),
    duration: new Histogram({
      name: 'sidevault_request_duration_seconds',
      help: 'Time of a request in Sidevault: kind "proxy" until it is forwarded or denied, "connect" until the reply to CONNECT, "management" until its response.',
      labelNames: ['kind'] as const,
      buckets: DURATION_BUCKETS,
      registers,
    }),
    guard: {
      findings: new Counter({
        name: 'sidevault_guard_findings_total',
        help: 'Values of a request that its response held, by what the response guard did (reported, replaced, blocked).',
        labelNames: ['action'] as const,
        registers,
      }),
      unseen: new Counter({
        name: 'sidevault_guard_unseen_total',
        help: 'Calls that asked for the response and did not get it: it passed unguarded. More than 0 is an error of the service.',
        registers,
      }),
    },
    checks: {
      total: new Counter({
        name: 'sidevault_checks_total',
        help: 'Runs of the checks of plugins on proxied calls, by check and outcome: allowed, labeled, denied, failed (threw, or returned no verdict), timed_out.',
        labelNames: ['check', 'outcome'] as const,
        registers,
      }),
      seconds: new Histogram({
        name: 'sidevault_check_duration_seconds',
        help: 'Time of one run of a check on a proxied call.',
        labelNames: ['check'] as const,
        buckets: DURATION_BUCKETS,
        registers,
      }),
    },
    calls: {
      ended: new Counter({
        name: 'sidevault_proxy_requests_total',
        help: 'Proxied calls that ended after the gateway had taken them, by outcome (answered, not_sent, unknown), status of the response to the caller (0: it got none), and whether the response was complete.',
        labelNames: ['outcome', 'status', 'complete'] as const,
        registers,
      }),
      seconds: new Histogram({
        name: 'sidevault_proxy_request_duration_seconds',
        help: 'Time of a proxied call from the first byte of the request to the last byte of the response.',
        buckets: DURATION_BUCKETS,
        registers,
      }),
      bytes: new Counter({
        name: 'sidevault_proxy_bytes_total',
        help: 'Bytes of the bodies of proxied calls, by direction: request (as the caller sent it) or response.',
        labelNames: ['direction'] as const,
        registers,
      }),
    },
    stage: new Histogram({
      name: 'sidevault_stage_duration_seconds',
      help: 'Time spent in one stage of a request.',
      labelNames: ['stage'] as const,
      buckets: DURATION_BUCKETS,
      registers,
    }),
    disclosed: new Counter({
      name: 'sidevault_tokens_disclosed_total',
      help: 'Tokens whose data was disclosed, by token type, purpose (read, use) and disclosure (redact, mask, reveal).',
      labelNames: ['type', 'purpose', 'disclosure'] as const,
      registers,
    }),
    brokenJournals: new Gauge({
      name: 'sidevault_audit_journals_broken',
      help: 'Audit journals found broken since the start. They are not ingested.',
      aggregator: 'max',
      registers,
    }),
    rejectedRecords: new Counter({
      name: 'sidevault_records_rejected_total',
      help: 'Stored records rejected because they were changed outside the service, by collection.',
      labelNames: ['collection'] as const,
      registers,
    }),
    up: new Gauge({
      name: 'sidevault_process_up',
      help: '1 while a process of the service responds, by process name.',
      labelNames: ['process'] as const,
      registers,
    }),
    sandbox: {
      invocations: new Counter({
        name: 'sidevault_sandbox_invocations_total',
        help: 'Runs of code, by outcome: returned, threw, unusable, or the name of the exceeded limit.',
        labelNames: ['outcome'] as const,
        registers,
      }),
      seconds: new Histogram({
        name: 'sidevault_sandbox_duration_seconds',
        help: 'Time of one run of code: waited (in the queue), cpu, wall (in total).',
        labelNames: ['time'] as const,
        buckets: DURATION_BUCKETS,
        registers,
      }),
      children: new Gauge({
        name: 'sidevault_sandbox_children',
        help: 'Child processes that are ready for code.',
        registers,
      }),
      exits: new Counter({
        name: 'sidevault_sandbox_child_exits_total',
        help: 'Child processes that exited, by reason: unresponsive, memory, crash, replaced (idle, for another tenant).',
        labelNames: ['reason'] as const,
        registers,
      }),
    },
  }
}

export type Metrics = ReturnType<typeof createCallMetrics>
