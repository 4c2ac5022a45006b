import { newId } from './ids.ts'
import type { TraceContext } from './trace-context.ts'

/**
 * Trace ids of 1–200 such characters are echoed; others are replaced (completions §1). Envoy's configuration has the
 * same rule.
 */
export const TRACE_ID_PATTERN = '^[!-~]([ -~]*[!-~])?$'
export const TRACE_ID_LENGTH = 200

const PATTERN = new RegExp(TRACE_ID_PATTERN)

/** A valid id of a trace for W3C Trace Context: 32 hex digits. */
const newTraceId = (): string => newId().replaceAll('-', '')

/** The trace id that a client sent, if valid; else that of its `traceparent`; else a new one. */
export const traceIdFor = (sent: string | undefined, parent?: TraceContext): string =>
  sent !== undefined && sent.length <= TRACE_ID_LENGTH && PATTERN.test(sent)
    ? sent
    : (parent?.traceId ?? newTraceId())
