/**
 * The variables of OpenTelemetry (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/)
 * that its packages do not read by themselves.
 */
type Environment = Readonly<Record<string, string | undefined>>

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'] as const
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'] as const
const PROTOCOL = 'http/protobuf'

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const

export interface SamplerSetting {
  readonly root: (typeof SAMPLERS)[number]
  /** The caller's decision counts where there is one. */
  readonly isParentBased: boolean
  readonly ratio: number
}

interface BatchSettings {
  readonly scheduledDelayMillis?: number
  readonly exportTimeoutMillis?: number
  readonly maxQueueSize?: number
  readonly maxExportBatchSize?: number
}

interface TraceSettings {
  readonly sampler: SamplerSetting
  readonly batch: BatchSettings
  /** Variables that are not applied, each with the reason. They never quote a value. */
  readonly warnings: readonly string[]
}

const settingOf = (env: Environment, name: string): string | undefined => env[name]?.trim() || undefined

/** Whether spans are exported. Off, no package of OpenTelemetry is loaded. */
export const exportsTraces = (env: Environment): boolean =>
  ENDPOINTS.some((name) => settingOf(env, name) !== undefined) &&
  settingOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() !== 'true' &&
  (settingOf(env, 'OTEL_TRACES_EXPORTER') ?? 'otlp') === 'otlp'

/** A whole number of at least 1. */
const countOf = (env: Environment, name: string, warnings: string[]): number | undefined => {
  const text = settingOf(env, name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  warnings.push(`${name} is not a whole number above 0; the default is used`)
  return undefined
}

const DEFAULT_SAMPLER: SamplerSetting = { root: 'always_on', isParentBased: true, ratio: 1 }

const samplerOf = (env: Environment, warnings: string[]): SamplerSetting => {
  const name = settingOf(env, 'OTEL_TRACES_SAMPLER')?.toLowerCase()
  if (name === undefined) return DEFAULT_SAMPLER
  const isParentBased = name.startsWith('parentbased_')
  const root = SAMPLERS.find((known) => known === name.replace(/^parentbased_/, ''))
  if (root === undefined) {
    warnings.push('OTEL_TRACES_SAMPLER names no known sampler; parentbased_always_on is used')
    return DEFAULT_SAMPLER
  }
  const ratio = Number(settingOf(env, 'OTEL_TRACES_SAMPLER_ARG') ?? 1)
  if (ratio >= 0 && ratio <= 1) return { root, isParentBased, ratio }
  warnings.push('OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1; 1 is used')
  return { root, isParentBased, ratio: 1 }
}

/** Undefined when the endpoint is not a URL of HTTP: spans would go somewhere else. */
export const traceSettings = (env: Environment): TraceSettings | undefined => {
  const endpoint = ENDPOINTS.map((name) => settingOf(env, name)).find((value) => value !== undefined) ?? ''
  if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) return undefined
  const warnings: string[] = []
  const protocol = PROTOCOLS.map((name) => settingOf(env, name)).find((value) => value !== undefined)
  if (protocol !== undefined && protocol !== PROTOCOL)
    warnings.push(`spans are sent as ${PROTOCOL}, whatever OTEL_EXPORTER_OTLP_PROTOCOL names`)
  const numbers = {
    scheduledDelayMillis: countOf(env, 'OTEL_BSP_SCHEDULE_DELAY', warnings),
    exportTimeoutMillis: countOf(env, 'OTEL_BSP_EXPORT_TIMEOUT', warnings),
    maxQueueSize: countOf(env, 'OTEL_BSP_MAX_QUEUE_SIZE', warnings),
    maxExportBatchSize: countOf(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', warnings),
  }
  const batch: BatchSettings = Object.fromEntries(
    Object.entries(numbers).filter(([, value]) => value !== undefined),
  )
  return { sampler: samplerOf(env, warnings), batch, warnings }
}
