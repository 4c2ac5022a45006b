import { newId } from './ids.ts'

/**
 * Trace ids of 1–200 such characters are echoed; others are replaced (completions §1). Envoy's configuration has the
 * same rule.
 */
export const TRACE_ID_PATTERN = '^[!-~]([ -~]*[!-~])?$'
export const TRACE_ID_LENGTH = 200

const PATTERN = new RegExp(TRACE_ID_PATTERN)

/** The trace id that a client sent, if valid; else a new one. */
export const traceIdFor = (sent: string | undefined): string =>
  sent !== undefined && sent.length <= TRACE_ID_LENGTH && PATTERN.test(sent) ? sent : newId()
