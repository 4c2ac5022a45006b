import type { Call, UseContext } from '#sdk'

/** On whose behalf the vault acts. */
export const contextOf = (call: Call): UseContext => ({
  caller: call.caller,
  traceId: call.traceId,
  now: call.now,
  hold: call.hold,
  used: call.used,
})
