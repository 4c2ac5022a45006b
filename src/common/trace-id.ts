import { newId } from './ids.ts'

/** A trace id of 1–200 such characters is echoed as it came; any other is replaced (completions §1). Envoy has the rule too. */
export const TRACE_ID_PATTERN = '^[!-~]([ -~]*[!-~])?$'
export const TRACE_ID_LENGTH = 200

const PATTERN = new RegExp(TRACE_ID_PATTERN)

/** The trace id of a request that sent this one. */
export const traceIdFor = (sent: string | undefined): string =>
  sent !== undefined && sent.length <= TRACE_ID_LENGTH && PATTERN.test(sent) ? sent : newId()
