import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { ISSUES } from '../kit/fault-processor.ts'
import { FAULTY, inFaultyWorld, SECRET } from '../kit/faulty-world.ts'
import { startForwardWorld } from '../kit/forward-world.ts'
import { http2Session, overHttp1, overHttp2 } from '../kit/tunnel.ts'

const faulty = await inFaultyWorld(
  startForwardWorld({ ...FAULTY, bindings: { connect: () => 'open', request: () => ({ surfaces: [] }) } }),
)
const { world, socket, to, startProcessor, killProcessor } = faulty
t.teardown(() => faulty.close())

const nothingLeft = (t: Test) => {
  t.same(world.destination.received, [], 'the destination received nothing')
  t.equal(world.destination.connections(), 0, 'nor a connection')
}

/** Sends a request in a tunnel of its own, during which the processor has this fault. */
const send = async (fault: string, protocol: 'h1' | 'h2', body: string | readonly string[] = SECRET) => {
  const tunnel = await world.open('api.test', { alpn: [protocol === 'h1' ? 'http/1.1' : 'h2'] })
  const length = typeof body === 'string' ? { 'content-length': String(body.length) } : {}
  const sent = { body, headers: { 'x-fault': fault, 'x-to': to, ...length } }
  try {
    if (protocol === 'h1') return await overHttp1(tunnel, world.authorityOf(), sent)
    return await overHttp2(http2Session(tunnel, world.authorityOf()), sent)
  } finally {
    tunnel.destroy()
  }
}

const isAlive = async (t: Test) => {
  const before = world.destination.received.length
  const { status, json } = await send('', 'h1')
  t.equal(status, 200, 'the next request works')
  t.equal(Buffer.from(json.body, 'base64').toString(), 'replaced')
  t.equal(world.destination.received.length, before + 1, 'and arrives once')
}

const restart = async (fault: string) => {
  if (!/kill|stop/.test(fault)) return
  await killProcessor()
  await startProcessor()
}

t.test('a processor missing when Envoy starts opens no tunnel', async (t) => {
  t.notOk(existsSync(socket))
  const { status } = await world.connect()
  t.ok(status >= 500, `${status}`)
  nothingLeft(t)
  await startProcessor()
})

for (const fault of ISSUES.connect)
  t.test(`fault "${fault}" at CONNECT opens no tunnel`, async (t) => {
    const { status } = await world.connect('api.test', { lines: [`x-fault: connect:${fault}`] })
    t.ok(fault === 'bare-immediate' ? status === 418 : status >= 500, `${status}`)
    nothingLeft(t)
    await restart(fault)
  })

for (const phase of ['headers', 'body'] as const)
  for (const [at, fault] of ISSUES[phase].entries()) {
    const protocol = at % 2 === 0 ? 'h1' : 'h2'
    t.test(`fault "${fault}" at the ${phase} over ${protocol} forwards nothing from a tunnel`, async (t) => {
      const { status, json } = await send(`${phase}:${fault}`, protocol)
      t.equal(status, fault === 'bare-immediate' ? 418 : 504)
      t.equal(json?.proxy_error?.status, status)
      nothingLeft(t)
      await restart(fault)
    })
  }

for (const fault of ['end', 'error', 'kill', 'empty', 'undecodable', 'wrong-phase', 'bare-immediate'])
  for (const protocol of ['h1', 'h2'] as const)
    t.test(`fault "${fault}" forwards no body of unknown length over ${protocol}`, async (t) => {
      const { status } = await send(`headers:${fault}`, protocol, [SECRET])
      t.ok(status === 418 || status >= 500, `${status}`)
      nothingLeft(t)
      await restart(fault)
    })

t.test('the next tunnel works', isAlive)
