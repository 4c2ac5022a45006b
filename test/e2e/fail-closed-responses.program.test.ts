import t, { type Test } from 'tap'
import { listen } from '../../src/ext-proc/listen.ts'
import type { Phase } from '../../src/gateway/encode-reply.ts'
import type { ExtProcReply } from '../../src/gateway/types.ts'
import type { Responded } from '../kit/egress.ts'
import { messageFor } from '../kit/ext-proc.ts'
import { ISSUES } from '../kit/fault-processor.ts'
import { SECRET, startFaultyWorld } from '../kit/faulty-world.ts'

const faulty = await startFaultyWorld()
const { world, socket, to, send, startProcessor, killProcessor } = faulty
t.teardown(() => faulty.close())
await startProcessor()

const NEEDS_RESTART = /kill|stop/

/** The caller does not get the destination's response. */
const responseIsRetained = (t: Test, response: Responded, status: number) => {
  t.equal(response.status, status)
  t.notMatch(response.text, /rawHeaders|x-fault|httpVersion/, 'nothing of the destination arrives')
  t.equal(response.headers['x-from'], undefined)
  if (status !== 418) t.equal(response.json?.proxy_error?.status, status)
  t.equal(response.headers['svc-trace-id'], 'trace')
  t.equal(world.destination.received.length, 1, 'the request was sent once')
  world.destination.received.length = 0
}

for (const phase of ['response-headers', 'response-body'] as const)
  for (const fault of ISSUES[phase])
    for (const options of [{ body: SECRET }, { method: 'GET' }])
      t.test(
        `fault "${fault}" at the ${phase} of a ${options.method ?? 'POST'} returns no destination response`,
        async (t) => {
          responseIsRetained(
            t,
            await send(`${phase}:${fault}`, options),
            fault === 'bare-immediate' ? 418 : 504,
          )
          if (NEEDS_RESTART.test(fault)) {
            await killProcessor()
            await startProcessor()
          }
        },
      )

t.test('a response that the processor replaces is returned as replaced', async (t) => {
  const response = await send('response-body:', { body: SECRET })
  t.equal(response.status, 200)
  t.equal(response.text, 'replaced')
  t.equal(response.headers['x-from'], 'destination')
  world.destination.received.length = 0
})

t.test('a stream reset by the gateway during a response returns no destination response', async (t) => {
  await killProcessor()
  const watched: ExtProcReply = {
    kind: 'continue',
    prefix: 'svc',
    upstream: 'https',
    modeOverride: 'responseBody',
    edits: {
      set: new Map([
        [':authority', to],
        ['svc-trace-id', 'trace'],
      ]),
      remove: [],
    },
  }
  for (const at of ['response_headers', 'response_body'] as const)
    await t.test(at, async (t) => {
      const listener = await listen(
        socket,
        (call) => {
          let phase: Phase = 'request_headers'
          return {
            message: () => {
              if (phase === at) call.reset()
              else if (phase === 'request_headers') call.send(messageFor(watched, phase))
              else call.send(messageFor({ kind: 'bufferedResponse', destinationStatus: '200' }, phase))
              phase = phase === 'request_headers' ? 'response_headers' : 'response_body'
            },
            end: () => call.reset(),
            gone: () => {},
          }
        },
        { calls: 10, messageBytes: 1_000_000 },
      )
      const response = await send('', { method: 'GET' })
      responseIsRetained(t, response, 504)
      t.equal(response.headers['svc-proxy-destination-status'], at === 'response_body' ? '200' : undefined)
      t.match(response.json.proxy_error.detail, /may have (received|processed)/)
      await listener.close(100)
    })
  await startProcessor()
})

t.test('a response that fills the buffer before its headers are processed is rejected at once', async (t) => {
  await killProcessor()
  const edits = {
    set: new Map([
      [':authority', to],
      [':path', '/large-json?bytes=9000000'],
      ['svc-trace-id', 'trace'],
    ]),
    remove: [],
  }
  const listener = await listen(
    socket,
    (call) => {
      let messages = 0
      return {
        message: () => {
          if (++messages > 1) return
          call.send(
            messageFor(
              { kind: 'continue', prefix: 'svc', upstream: 'https', modeOverride: 'responseBody', edits },
              'request_headers',
            ),
          )
        },
        end: () => call.reset(),
        gone: () => {},
      }
    },
    { calls: 10, messageBytes: 1_000_000 },
  )
  const response = await send('', { method: 'GET' })
  t.equal(response.status, 502)
  t.match(response.json.proxy_error.detail, /too large for a transform/)
  await listener.close(100)
  await startProcessor()
})
