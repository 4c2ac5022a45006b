import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { freePort, type Sidevault, startSidevault } from '../kit/sidevault.ts'
import { descendants, isAlive, until } from './processes.ts'
import { startBlind } from './start.ts'

/** A request to the demo destination whose body ends only when `end` is called. */
const slowRequest = async (sidevault: Sidevault, key: string, body: string) => {
  const request: ClientRequest = httpRequest(`${sidevault.url}/proxy/slow`, {
    method: 'POST',
    agent: false,
    headers: {
      'svc-api-key': key,
      'svc-proxy-url': 'https://demo.sidevault.test',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  })
  const received = new Promise<{ status: number; text: string }>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve({ status: response.statusCode ?? 0, text })
    })
  })
  received.catch(() => {}) // it may be cut off on purpose
  request.flushHeaders()
  await once(request, 'continue') // Envoy has it now
  request.write(body.slice(0, 5))
  return { received, end: () => request.end(body.slice(5)) }
}

const rejectsConnections = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(socket.destroy() === undefined))
    socket.once('error', () => resolve(true))
  })

t.test('kill -9 of the supervisor leaves no process', async (t) => {
  const killed = await startSidevault()
  const before = descendants(killed.pid)
  t.ok(before.length >= 3)
  await killed.kill()
  await until('all processes are gone', () => before.every(({ pid }) => !isAlive(pid)))

  const sidevault = await startSidevault({ dataDir: killed.dataDir, port: killed.port })
  t.teardown(() => rmSync(killed.dataDir, { recursive: true, force: true }))
  t.equal((await sidevault.call('GET', '/tenants/self', { key: sidevault.managementKey })).status, 200)

  await t.test('SIGTERM lets a request in flight finish, and leaves no process', async (t) => {
    const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
    const { json: token } = await sidevault.call('POST', '/tokens', {
      key,
      body: { type: 'token', data: 'drained' },
    })
    const processes = descendants(sidevault.pid)
    t.ok(processes.length >= 3)
    const slow = await slowRequest(sidevault, key, `{"value":"{{ ${token.id} }}"}`)

    const stopped = sidevault.stop()
    await until('new connections are rejected', () => rejectsConnections(sidevault.port))
    slow.end()
    const response = await slow.received
    t.equal(response.status, 200)
    t.equal(JSON.parse(response.text).body.value, 'drained')
    t.equal(await stopped, 0)
    for (const { pid, command } of processes) t.notOk(isAlive(pid), command)
  })
})

t.test('a second signal stops without waiting', async (t) => {
  const sidevault = await startSidevault({ env: { SIDEVAULT_DRAIN_SECONDS: '600' } })
  const key = await sidevault.application({ permissions: ['token:create', 'token:use'] })
  const processes = descendants(sidevault.pid)
  const slow = await slowRequest(sidevault, key, '{"value":1}')
  // No handler is left for a signal that arrives while Node exits: none is sent when the work is done.
  const own = processes.filter(({ parent }) => parent === sidevault.pid)
  const again = setInterval(() => {
    if (own.some(({ pid }) => isAlive(pid))) sidevault.process.kill('SIGINT')
  }, 100)
  t.equal(await sidevault.stop(), 0)
  clearInterval(again)
  await t.rejects(slow.received)
  // what runs code is killed with the process that it belongs to, and is gone a moment later
  await until('every process is gone', () => !processes.some(({ pid }) => isAlive(pid)))
})

t.test('a start interrupted at any time ends, and leaves no process', async (t) => {
  const dataDir = t.testdir()
  const port = await freePort()
  for (const ms of [150, 400, 700, 1000, 1500]) {
    const { child, exited } = startBlind(dataDir, { port })
    await setTimeout(ms)
    const processes = descendants(child.pid ?? 0)
    child.kill('SIGTERM')
    await Promise.race([exited, setTimeout(60_000, undefined, { ref: false })])
    t.ok(child.exitCode !== null || child.signalCode !== null, `it has ended, asked after ${ms} ms`)
    await until('every process is gone', () => !processes.some(({ pid }) => isAlive(pid)))
  }
})
