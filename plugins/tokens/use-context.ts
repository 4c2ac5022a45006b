import { type Call, type Static, Type, type UseContext } from '#sdk'

/** The most that a read shows, for callers that need no more. */
export const AtMost = Type.Enum(['mask', 'redact'], {
  description: 'Shows this at most, e.g. masks to a key that may see data. Default: what the key may see.',
})

/** The vault's context of a call. */
export const useContextOf = (call: Call, maxDisclosure?: Static<typeof AtMost>): UseContext => ({
  caller: call.caller,
  traceId: call.traceId,
  now: call.now,
  hold: call.hold,
  used: call.used,
  decisions: call.decisions,
  code: call.code,
  maxDisclosure,
})
