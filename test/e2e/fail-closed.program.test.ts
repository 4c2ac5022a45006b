import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { ERRORS } from '../../src/common/errors.ts'
import type { Call } from '../../src/ext-proc/call.ts'
import { listen } from '../../src/ext-proc/listen.ts'
import type { Phase } from '../../src/gateway/encode-reply.ts'
import type { ExtProcReply } from '../../src/gateway/types.ts'
import type { Responded } from '../kit/egress.ts'
import { messageFor } from '../kit/ext-proc.ts'
import { ISSUES } from '../kit/fault-processor.ts'
import { startFaultyWorld } from '../kit/faulty-world.ts'

const faulty = await startFaultyWorld()
const { world, socket, to, send, startProcessor, prepareProcessor, killProcessor } = faulty

const isClosed = (t: Test, response: Responded, status = 504) => {
  t.equal(response.status, status)
  t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(response.headers['svc-trace-id'], 'trace')
  t.equal(response.headers['svc-proxy-destination-status'], undefined)
  t.equal(response.json?.proxy_error?.status, status)
  t.hasProp(ERRORS, response.json?.proxy_error?.code)
  t.type(response.json?.proxy_error?.detail, 'string')
  t.same(world.destination.received, [], 'the destination received nothing')
  t.same(world.apiPaths, [], 'our own API received nothing')
}

const isAlive = async (t: Test) => {
  const response = await send('')
  t.equal(response.status, 200, 'the next request works')
  t.equal(Buffer.from(response.json.body, 'base64').toString(), 'replaced')
  t.equal(world.destination.received.length, 1, 'and arrives once')
  world.destination.received.length = 0
}

t.teardown(() => faulty.close())

t.test('a processor missing when Envoy starts forwards nothing', async (t) => {
  t.notOk(existsSync(socket))
  isClosed(t, await send(''))
  isClosed(t, await send('', { method: 'GET' }))
  await startProcessor()
  await isAlive(t)
})

t.test('a request without a processor waits briefly for one', async (t) => {
  await killProcessor()
  const putInPlace = await prepareProcessor()
  const waiting = send('')
  while ((await world.envoy.stat('cluster.gateway.upstream_rq_retry')) === 0) {}
  putInPlace()
  const response = await waiting
  t.equal(response.status, 200)
  t.equal(world.destination.received.length, 1)
  world.destination.received.length = 0
})

const NEEDS_RESTART = /kill|stop/

for (const phase of ['headers', 'body'] as const)
  for (const fault of ISSUES[phase])
    t.test(`fault "${fault}" at the ${phase} forwards nothing`, async (t) => {
      isClosed(t, await send(`${phase}:${fault}`), fault === 'bare-immediate' ? 418 : 504)
      if (NEEDS_RESTART.test(fault)) {
        await killProcessor()
        isClosed(t, await send(''))
        await startProcessor()
      }
      await isAlive(t)
    })

for (const fault of ISSUES.headers.filter((name) => !/after|double|unclean/.test(name)))
  t.test(`fault "${fault}" forwards no request without a body`, async (t) => {
    const response = await send(`headers:${fault}`, { method: 'GET' })
    isClosed(t, response, fault === 'bare-immediate' ? 418 : 504)
    if (NEEDS_RESTART.test(fault)) {
      await killProcessor()
      await startProcessor()
    }
    await isAlive(t)
  })

t.test('a processor killed during an upload forwards nothing', async (t) => {
  const client = connect(world.port, '127.0.0.1')
  await once(client, 'connect')
  client.write(
    `POST /proxy HTTP/1.1\r\nhost: x\r\nx-to: ${to}\r\nsvc-trace-id: trace\r\nsvc-api-key: k\r\ncontent-length: 100\r\n\r\nhalf`,
  )
  while ((await world.envoy.stat('cluster.gateway.upstream_rq_total')) === 0) await killProcessor()
  await killProcessor()
  client.write('x'.repeat(96))
  let text = ''
  for await (const chunk of client) {
    text += chunk
    if (text.includes('"title"')) break
  }
  client.destroy()
  t.match(text, /^HTTP\/1\.1 504 /)
  t.match(text, /proxy_error/)
  t.same(world.destination.received, [])
  await startProcessor()
  await isAlive(t)
})

const HOLD: ExtProcReply = {
  kind: 'buffered',
  prefix: 'svc',
  edits: { set: new Map([[':authority', to]]), remove: [] },
}

t.test('a stream that the gateway resets or ends too early forwards nothing', async (t) => {
  await killProcessor()
  const broken: Record<string, (call: Call, phase: Phase) => void> = {
    'reset at the headers': (call) => call.reset(),
    'reset at the body': (call, phase) =>
      phase === 'request_headers' ? call.send(messageFor(HOLD, phase)) : call.reset(),
    'reset after the reply to the headers': (call) => {
      call.send(messageFor(HOLD, 'request_headers'))
      call.reset()
    },
    'end at the headers': (call) => call.end(),
    'end at the body': (call, phase) =>
      phase === 'request_headers' ? call.send(messageFor(HOLD, phase)) : call.end(),
  }
  for (const [name, behave] of Object.entries(broken))
    await t.test(name, async (t) => {
      const listener = await listen(
        socket,
        (call) => {
          let phase: Phase = 'request_headers'
          return {
            message: () => {
              behave(call, phase)
              phase = 'request_body'
            },
            end: () => call.reset(),
            gone: () => {},
          }
        },
        { calls: 10, messageBytes: 1_000_000 },
      )
      isClosed(t, await send(''))
      await listener.close(100)
    })
  await startProcessor()
  await isAlive(t)
})
