/** Headers of one connection only, lower case: RFC 9110 §7.6.1, and names of older practice. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
])

/** Headers for routing and framing of a message, lower case. The sender of the message sets them. */
export const FRAMING: ReadonlySet<string> = new Set(['host', 'content-length', 'expect'])

/** True for a header that only the sender of a message may set, in any letter case. */
export const isConnectionHeader = (name: string): boolean => {
  const lower = name.toLowerCase()
  return HOP_BY_HOP.has(lower) || FRAMING.has(lower) || lower.startsWith('proxy-')
}
