import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import type { ResponseFlow } from '../../src/gateway/types.ts'
import { startWorld } from '../kit/egress.ts'
import { endedResponse } from '../kit/ended-response.ts'
import { framedBody, startFramedDestination } from '../kit/framed-destination.ts'
import { startReceiver } from '../kit/receiver.ts'
import { failing, ISSUE_PLACES, pass, startRelay } from '../kit/relay.ts'
import { upload } from '../kit/upload.ts'

const world = await startWorld({ withGateway: false })
const relay = await startRelay(join(world.directory, 'gateway.sock'))
const receiver = await startReceiver(await world.authority.issue(['dest.test']), 'h1')
const certificate = await world.authority.issue(['dest.test'])
const framed = {
  h1: await startFramedDestination(certificate, 'h1'),
  h2: await startFramedDestination(certificate, 'h2'),
}
t.teardown(async () => {
  await framed.h1.close()
  await framed.h2.close()
  await receiver.close()
  await relay.close()
  await world.close()
})
t.beforeEach(() => {
  relay.heads.length = 0
  relay.unseen = 0
  relay.override = 'guardedResponse'
  relay.respond = pass
})

t.test('each override that a reply can hold is heeded', async (t) => {
  for (const override of ['guardedResponse', 'guardedHeaders'] as const) {
    relay.override = override
    const asked = {
      'without a body': () => world.post('/proxy', { method: 'GET', to: world.url('/large?bytes=200000') }),
      'with a body': () => world.post('/proxy', { to: world.url('/large?bytes=200000'), body: 'x' }),
      'a streamed body': () => upload(world.port, `https://dest.test:${receiver.port}/x`, ['a', 'b']),
      'an empty streamed body': () => upload(world.port, `https://dest.test:${receiver.port}/x`, []),
    }
    for (const [name, send] of Object.entries(asked)) {
      relay.heads.length = 0
      const { status, text } = await send()
      t.equal(status, 200, `${override}, ${name}`)
      if (name.includes('streamed')) t.match(text, /"bytes":/)
      else t.equal(text.length, 200_000, `${override}, ${name}`)
      t.equal(relay.heads.length, 1, `${override}, ${name}: the response came`)
    }
  }
  t.equal(relay.unseen, 0)
})

const PROTOCOLS = ['h1', 'h2'] as const
const SIZES = [0, 1, 16_384, 65_536, 65_537, 300_000, 1_048_576]
const urlOf = (protocol: 'h1' | 'h2', query: string) => `https://dest.test:${framed[protocol].port}/?${query}`

for (const destination of PROTOCOLS)
  for (const protocol of PROTOCOLS)
    t.test(`responses pass byte for byte from ${destination} to ${protocol}`, async (t) => {
      for (const framing of ['length', 'chunked', ...(destination === 'h1' ? ['close'] : [])])
        for (const hasTrailers of framing === 'chunked' ? [false, true] : [false])
          for (const bytes of SIZES) {
            const query = `framing=${framing}&bytes=${bytes}${hasTrailers ? '&trailers=1' : ''}`
            const got = await endedResponse(world.port, urlOf(destination, query), { protocol })
            t.match(got, { status: 200, isComplete: true }, query)
            t.ok(got.body.equals(framedBody(bytes)), `${query}: ${got.body.length} bytes`)
            if (!hasTrailers) continue
            relay.override = undefined
            const other = await endedResponse(world.port, urlOf(destination, query), { protocol })
            relay.override = 'guardedResponse'
            t.same({ ...got.trailers }, { ...other.trailers }, `${query}: as without the guard`)
            if (destination === 'h2' && protocol === 'h2' && bytes > 0)
              t.equal(got.trailers['x-trailer'], 'behind', query)
          }
      for (const status of [204, 304]) {
        const got = await endedResponse(world.port, urlOf(destination, `status=${status}`), {
          protocol,
          method: 'GET',
        })
        t.match(got, { status, isComplete: true, body: { length: 0 } })
      }
      t.equal(relay.unseen, 0)
    })

t.test("Envoy's own responses pass as those of a call that is not guarded", async (t) => {
  const send = () => endedResponse(world.port, 'https://dest.test:1/', { protocol: 'h1' })
  const guarded = await send()
  t.equal(relay.heads.length, 1)
  relay.override = undefined
  const other = await send()
  t.match(guarded, { status: 502, isComplete: true })
  const text = ({ body }: typeof other) => body.toString().replace(/"[0-9a-f-]{36}"/, '""')
  t.equal(text(guarded), text(other))
})

/** Nothing of it is unsearched, and it does not look complete. */
const isBrokenOff = (
  t: Test,
  what: string,
  { status, body, isComplete }: Awaited<ReturnType<typeof endedResponse>>,
): void => {
  if (what.includes('headers') && status === 504) t.notMatch(body.toString(), /[A-P]{10}/, what)
  else {
    t.notOk(isComplete, `${what}: ${status}, ${body.length} bytes`)
    t.notOk(/[A-Z]/.test(body.toString('latin1')), `${what}: every byte was searched`)
  }
}

const STREAMED = { 'svc-proxy-stream': 'true' }
const CHUNKED = 'framing=chunked&bytes=600000'
const LARGE = [
  { query: CHUNKED },
  { query: 'framing=length&bytes=600000' },
  { query: 'framing=chunked&bytes=600000&trailers=1' },
  { query: CHUNKED, headers: STREAMED },
]

t.test('a response that is reset, or whose gateway crashes, breaks off', async (t) => {
  const calls = PROTOCOLS.flatMap((destination) =>
    PROTOCOLS.flatMap((protocol) => LARGE.map((asked) => ({ destination, protocol, ...asked }))),
  )
  for (const place of ISSUE_PLACES)
    for (const [name, fail] of Object.entries({
      reset: (flow: ResponseFlow) => flow.abort(),
      throw: () => Promise.reject(new Error('asked for')),
      return: () => {},
    })) {
      relay.respond = failing(place, fail)
      const broken = calls.map(async ({ destination, protocol, query, headers = {} }) => {
        const got = await endedResponse(world.port, urlOf(destination, query), { protocol, headers })
        const upload = headers === STREAMED ? ', an upload' : ''
        isBrokenOff(t, `${name} at ${place}, ${destination} to ${protocol}, ${query}${upload}`, got)
      })
      await Promise.all(broken)
    }
})

t.test('a response whose gateway is killed or frozen breaks off', async (t) => {
  const stopped = await startWorld({ withGateway: false })
  const other = await stopped.authority.issue(['dest.test'])
  const destinations = {
    h1: await startFramedDestination(other, 'h1'),
    h2: await startFramedDestination(other, 'h2'),
  }
  let process: ChildProcess | undefined
  t.teardown(async () => {
    process?.kill('SIGKILL')
    await destinations.h1.close()
    await destinations.h2.close()
    await stopped.close()
  })
  const program = fileURLToPath(new URL('../kit/relay-process.ts', import.meta.url))
  const start = async (...args: readonly string[]) => {
    process = fork(program, [stopped.directory, ...args])
    const exit = once(process, 'exit')
    await once(process, 'message')
    return { exit }
  }
  const calls = PROTOCOLS.flatMap((destination) =>
    PROTOCOLS.map((protocol) => ({
      what: `${destination} to ${protocol}`,
      send: (headers = {}) => {
        const to = `https://dest.test:${destinations[destination].port}/?${CHUNKED}`
        return endedResponse(stopped.port, to, { protocol, headers })
      },
    })),
  )
  for (const place of ISSUE_PLACES)
    for (const { what, send } of calls) {
      const { exit } = await start('SIGKILL', place)
      const got = await send()
      await exit
      isBrokenOff(t, `killed at ${place}, ${what}`, got)
    }
  const places = ISSUE_PLACES.flatMap((place) => calls.flatMap(() => [place, place]))
  const { exit } = await start('SIGSTOP', ...places)
  await Promise.all(
    ISSUE_PLACES.flatMap(() =>
      calls.flatMap(({ what, send }) =>
        [{}, STREAMED].map(async (headers) => {
          isBrokenOff(t, `frozen at headers or later, ${what}`, await send(headers))
        }),
      ),
    ),
  )
  process?.kill('SIGKILL')
  await exit
})
