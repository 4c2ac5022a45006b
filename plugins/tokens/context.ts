import type { Call, UseContext } from '#sdk'

/** The vault's context of a call. */
export const contextOf = (call: Call): UseContext => ({
  caller: call.caller,
  traceId: call.traceId,
  now: call.now,
  hold: call.hold,
  used: call.used,
  code: call.code,
})
