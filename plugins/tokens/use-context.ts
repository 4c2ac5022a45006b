import { type Call, type Static, Type, type UseContext } from '#sdk'

/** What a read shows at most, for callers that need no more than that. */
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
