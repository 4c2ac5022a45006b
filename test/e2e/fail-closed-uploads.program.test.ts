import { join } from 'node:path'
import t from 'tap'
import type { Call } from '../../src/ext-proc/call.ts'
import { listen } from '../../src/ext-proc/listen.ts'
import type { ExtProcReply } from '../../src/gateway/types.ts'
import { startWorld } from '../kit/egress.ts'
import { messageFor } from '../kit/ext-proc.ts'
import { startReceiver } from '../kit/receiver.ts'
import { upload } from '../kit/upload.ts'

const world = await startWorld({ withGateway: false })
const receiver = await startReceiver(await world.authority.issue(['dest.test']), 'h1')
t.teardown(async () => {
  await receiver.close()
  await world.close()
})

const RELEASE: Extract<ExtProcReply, { kind: 'continue' }> = {
  kind: 'continue',
  prefix: 'svc',
  upstream: 'dialed_https',
  address: `127.0.0.1:${receiver.port}`,
  edits: { set: new Map([[':authority', `dest.test:${receiver.port}`]]), remove: ['svc-api-key'] },
}
const { address: _, ...NOWHERE } = RELEASE
const headers = (response: ExtProcReply) => messageFor(response, 'request_headers')
const release = headers(RELEASE)
const piece = messageFor({ kind: 'streamed', body: Buffer.from('piece'), isLast: false }, 'request_body')

/** Reactions of a gateway to the headers, and to the first chunk of the body. */
const FAULTS: Readonly<
  Record<string, readonly [headers: (call: Call) => void, body?: (call: Call) => void]>
> = {
  'ends at the headers': [(call) => call.end()],
  'resets at the headers': [(call) => call.reset()],
  'resets after its reply to the headers': [
    (call) => {
      call.send(release)
      call.reset()
    },
  ],
  'resets after a part': [
    (call) => {
      call.send(release)
      call.send(piece)
    },
    (call) => call.reset(),
  ],
  'replies with buffered': [(call) => call.send(headers({ ...RELEASE, kind: 'buffered' }))],
  'names no address': [(call) => call.send(headers(NOWHERE)), (call) => call.send(piece)],
  'sends a part first': [(call) => call.send(piece)],
  'replaces the complete body': [
    (call) => call.send(release),
    (call) => call.send(messageFor({ ...RELEASE, body: Buffer.from('whole') }, 'request_body')),
  ],
  'continues a part unchanged': [
    (call) => call.send(release),
    (call) => call.send(messageFor({ kind: 'continueResponse' }, 'request_body')),
  ],
  'sends a malformed message': [
    (call) => call.send(release),
    (call) => call.send(Buffer.from('ffffffffffffffffffff', 'hex')),
  ],
  'replies to the headers twice': [(call) => call.send(release), (call) => call.send(release)],
}

/** Envoy 1.40 never responds to these, because it has no destination for the body: the caller's timeout ends them. */
const UNRESPONDED: readonly string[] = ['replies with buffered', 'names no address']

for (const [fault, [onHeaders, onBody = () => {}]] of Object.entries(FAULTS))
  for (const protocol of ['h1', 'h2'] as const)
    t.test(`a streamed body is not forwarded over ${protocol} when its gateway ${fault}`, async (t) => {
      let messages = 0
      const listener = await listen(
        join(world.directory, 'gateway.sock'),
        (call) => ({
          message: () => {
            messages++
            if (messages === 1) onHeaders(call)
            else if (messages === 2) onBody(call)
          },
          end: () => call.reset(),
          gone: () => {},
        }),
        { calls: 10, messageBytes: 16_000_000 },
      )
      const before = receiver.arrivals.length
      const body = ['{{ secret }}', ...Array.from({ length: 30 }, () => '{{ secret }}'.repeat(5_000))]
      const signal = AbortSignal.timeout(UNRESPONDED.includes(fault) ? 500 : 30_000)
      const response = await upload(world.port, 'https://x', body, { protocol, signal }).catch(
        () => undefined,
      )
      if (!UNRESPONDED.includes(fault) || response !== undefined) {
        t.ok((response?.status ?? 0) >= 500, `${response?.status}`)
        t.equal(response?.json?.proxy_error?.status, response?.status)
      }
      const arrivals = receiver.arrivals.slice(before)
      if (arrivals.length > 0) {
        const { end, head } = await receiver.ended()
        t.equal(end, 'aborted')
        t.notMatch(head.toString(), /secret/)
      }
      await listener.close(0)
    })
