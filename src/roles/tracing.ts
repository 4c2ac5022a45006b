/**
 * Spans for an OpenTelemetry collector. Loaded only when spans are exported (`exportsTraces`), since its packages take
 * time and memory to load.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout } from 'node:timers/promises'
import { type Span as OtelSpan, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from '../common/log.ts'
import { createLogThrottle } from '../common/log-throttle.ts'
import { parseTraceparent, type TraceContext } from '../common/trace-context.ts'
import { installTracer, type Span, type SpanFacts, type Tracer } from '../common/tracing.ts'
import { programVersion } from '../common/version.ts'
import { type SamplerSetting, traceSettings } from './trace-settings.ts'

/** Time for the last spans when the process ends, ms. */
const CLOSE_MS = 2_000

/** Statuses from here on are errors of the service (OpenTelemetry, "HTTP server"). */
const SERVER_ERROR = 500

/** Names of OpenTelemetry's semantic conventions, where they have one. */
const ATTRIBUTES = {
  status: 'http.response.status_code',
  error: 'error.type',
  outcome: 'sidevault.outcome',
  tokens: 'sidevault.tokens',
  host: 'server.address',
} as const satisfies Record<keyof SpanFacts, string>

const samplerFor = ({ root, isParentBased, ratio }: SamplerSetting): Sampler => {
  const sampler =
    root === 'traceidratio'
      ? new TraceIdRatioBasedSampler(ratio)
      : root === 'always_off'
        ? new AlwaysOffSampler()
        : new AlwaysOnSampler()
  return isParentBased ? new ParentBasedSampler({ root: sampler }) : sampler
}

/** Logs failures, without the texts of errors: they may quote what the collector responded. */
const withLog = (exporter: SpanExporter, log: Log): SpanExporter => {
  const throttle = createLogThrottle()
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const suppressed = result.error === undefined ? undefined : throttle('export')
        if (suppressed !== undefined)
          log.warn({ err: result.error, spans: spans.length, suppressed }, 'spans not exported')
        done(result)
      }),
    shutdown: () => exporter.shutdown(),
  }
}

const createTracer = (provider: TracerProvider, ids: { next: string | undefined }): Tracer => {
  const tracer = provider.getTracer('sidevault', programVersion())
  const running = new AsyncLocalStorage<Span>()

  const spanOf = (span: OtelSpan, isCall: boolean): Span => {
    const below = trace.setSpan(ROOT_CONTEXT, span)
    const { traceId, spanId, traceFlags } = span.spanContext()
    return {
      context: { traceId, spanId, isSampled: traceFlags === 1 },
      start: (name, kind) =>
        spanOf(
          tracer.startSpan(name, { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL }, below),
          false,
        ),
      add: (name, startTime, endTime) => tracer.startSpan(name, { startTime }, below).end(endTime),
      set: (facts) => {
        for (const [name, attribute] of Object.entries(ATTRIBUTES)) {
          const value = facts[name as keyof SpanFacts]
          if (value !== undefined) span.setAttribute(attribute, value)
        }
        const { status, error } = facts
        // A call that its caller got wrong is no error of this service.
        if (error !== undefined && (!isCall || (status ?? SERVER_ERROR) >= SERVER_ERROR))
          span.setStatus({ code: SpanStatusCode.ERROR })
      },
      end: () => {
        if (span.isRecording()) span.end()
      },
    }
  }

  const parentOf = ({ traceId, spanId, isSampled }: TraceContext) =>
    trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true })

  return {
    start: (name, parent, traceId) => {
      ids.next = traceId
      const context = parent === undefined ? ROOT_CONTEXT : parentOf(parent)
      return spanOf(tracer.startSpan(name, { kind: SpanKind.SERVER }, context), true)
    },
    current: () => running.getStore(),
    within: (span, work) => running.run(span, work),
  }
}

/** The exporter of a process. */
interface Tracing {
  /** Exports what is left, for two seconds at most. Never rejects. */
  close(): Promise<void>
}

/**
 * Installs the tracer of this process by the variables of its environment, which OpenTelemetry's packages read too.
 * Without a valid endpoint there is none: the log says so. `name`: the name of the process.
 */
export const startTracing = (name: string, log: Log): Tracing => {
  const settings = traceSettings(process.env)
  if (settings === undefined) {
    log.error('OTEL_EXPORTER_OTLP_ENDPOINT is not a URL with http: or https:; no spans are exported')
    return { close: async () => {} }
  }
  for (const warning of settings.warnings) log.warn(warning)
  const ids: { next: string | undefined } = { next: undefined }
  const random = new RandomIdGenerator()
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': 'sidevault',
          'service.version': programVersion(),
          'sidevault.process': name,
        }),
      )
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    sampler: samplerFor(settings.sampler),
    idGenerator: {
      generateSpanId: () => random.generateSpanId(),
      generateTraceId: () =>
        parseTraceparent(`00-${ids.next}-1000000000000000-00`)?.traceId ?? random.generateTraceId(),
    },
    spanProcessors: [
      new BatchSpanProcessor({ ...settings.batch, exporter: withLog(new OTLPTraceExporter(), log) }),
    ],
  })
  installTracer(createTracer(provider, ids))
  return {
    close: async () => {
      installTracer(undefined)
      const ended = provider.shutdown().catch(() => {})
      await Promise.race([ended, setTimeout(CLOSE_MS, undefined, { ref: false })])
    },
  }
}
