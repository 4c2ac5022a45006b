/**
 * A gateway that lets every request to `/proxy` go and asks for its response, over the gateway's own transport: what
 * tests of guarded responses run behind a real Envoy, without a vault.
 */
import { listen } from '../../src/ext-proc/listen.ts'
import type { Edits, Head } from '../../src/gateway/headers.ts'
import { serveStream } from '../../src/gateway/stream.ts'
import type { Exchange, ExtProcReply, GuardedOverride, ResponseFlow } from '../../src/gateway/types.ts'
import { silentLog } from './egress.ts'

const NO_EDITS: Edits = { set: new Map(), remove: [] }

type Respond = (head: Head, endOfStream: boolean, flow: ResponseFlow) => Promise<void>

/** Sends every piece back as it comes. */
export const pass: Respond = async (_head, _endOfStream, flow) => {
  await flow.head(NO_EDITS)
  for (;;) {
    const chunk = await flow.read()
    if (chunk?.isLast) return flow.end(chunk.bytes)
    if (chunk !== undefined) await flow.write(chunk.bytes)
  }
}

export const ISSUE_PLACES = ['headers', 'first', 'middle', 'last'] as const
export type IssuePlace = (typeof ISSUE_PLACES)[number]

/** Bytes that are sent before it happens in the middle. */
const MIDDLE = 200_000

/**
 * Sends the response in lower case, so that a byte in upper case is one that was not searched; `fail` happens before
 * the headers, behind them at the first bytes of the body, in its middle, or when all but the last are sent.
 */
export const failing =
  (place: IssuePlace, fail: (flow: ResponseFlow) => Promise<void> | void): Respond =>
  async (_head, _endOfStream, flow) => {
    if (place === 'headers') return fail(flow)
    await flow.head(NO_EDITS)
    for (let sent = 0; ; ) {
      const chunk = await flow.read()
      if (chunk === undefined) continue
      if (place === 'first') return fail(flow)
      const scanned = Buffer.from(chunk.bytes.toString('latin1').toLowerCase(), 'latin1')
      if (chunk.isLast) {
        await flow.write(scanned)
        return fail(flow)
      }
      await flow.write(scanned)
      sent += scanned.length
      if (place === 'middle' && sent > MIDDLE) return fail(flow)
    }
  }

interface Relay {
  /** What the next requests ask for; undefined: nothing. */
  override: GuardedOverride | undefined
  respond: Respond
  /** Responses whose headers came. */
  readonly heads: Head[]
  /** Calls that ended without a response. */
  unseen: number
  close(): Promise<void>
}

const unexpected = (): never => {
  throw new Error('a phase came that was not asked for')
}

export const startRelay = async (socketPath: string): Promise<Relay> => {
  const released = (head: Head): { readonly edits: Edits; readonly port: string } => {
    const { host, port, pathname, search } = new URL(head.get('svc-proxy-url')?.[0] ?? 'https://none.test')
    const set = new Map([
      [':authority', host],
      [':path', pathname + search],
    ])
    return { edits: { set, remove: ['svc-proxy-url', 'svc-api-key'] }, port }
  }
  const exchange = (): Exchange => ({
    onRequestHeaders(head, endOfStream): ExtProcReply {
      const { edits } = released(head)
      const common = { prefix: 'svc', edits, modeOverride: relay.override }
      return endOfStream
        ? { kind: 'continue', upstream: 'https', ...common }
        : { kind: 'buffered', ...common }
    },
    onRequestBody: () => ({ kind: 'continue', prefix: 'svc', upstream: 'https', edits: NO_EDITS }),
    async onStreamedRequest(head, endOfStream, flow) {
      const { edits, port } = released(head)
      await flow.write({
        kind: 'continue',
        prefix: 'svc',
        upstream: 'dialed_https',
        address: `127.0.0.1:${port}`,
        edits: { ...edits, remove: [...edits.remove, 'content-length'] },
        modeOverride: relay.override,
      })
      for (let isLast = endOfStream; !isLast; ) {
        const chunk = await flow.read()
        if (chunk === undefined) continue
        isLast = chunk.isLast
        if (isLast) await flow.end(chunk.bytes)
        else await flow.write({ kind: 'streamed', body: chunk.bytes, isLast: false })
      }
    },
    onResponseHeaders: unexpected,
    onResponseBody: unexpected,
    onStreamedResponse(head, endOfStream, flow) {
      relay.heads.push(head)
      return relay.respond(head, endOfStream, flow)
    },
    unseen() {
      relay.unseen++
    },
    bodyRejected: undefined,
    cancel() {},
  })
  const listener = await listen(socketPath, (call) => serveStream(call, exchange, silentLog()), {
    messageBytes: 9 * 1024 * 1024,
    calls: 10_000,
  })
  const relay: Relay = {
    override: 'guardedResponse',
    respond: pass,
    heads: [],
    unseen: 0,
    close: () => listener.close(0),
  }
  return relay
}
