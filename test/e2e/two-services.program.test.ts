/** Two services on one machine, one of them started by npm. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { applicationBy, callerOf, freePort } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { descendants, isAlive, until } from '../supervisor/processes.ts'
import { start } from '../supervisor/start.ts'
import { allBytes } from './first-lines.ts'
import { slowRequest } from './in-flight.ts'

const dirs = t.testdir()
const key = 'key_from-the-environment-0123456789'
const service = await start(join(dirs, 'one'), {
  env: { SIDEVAULT_BOOTSTRAP_KEY: key, SIDEVAULT_DRAIN_SECONDS: '600' },
})
t.teardown(() => service.child.kill('SIGKILL'))
const url = `http://127.0.0.1:${service.port}`
const call = callerOf(url)
const two = join(dirs, 'two')

t.test('another service runs beside it, started by npm, and exits with npm', async (t) => {
  const port = await freePort()
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: { ...process.env, SIDEVAULT_DATA_DIR: two, SIDEVAULT_LISTEN: `127.0.0.1:${port}` },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let stdout = ''
  npm.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  await until('ready', () => stdout.includes('\ncurl '))
  for (const at of [service.port, port]) t.equal((await fetch(`http://127.0.0.1:${at}/readyz`)).status, 200)
  const processes = descendants(npm.pid ?? 0)
  t.ok(processes.length >= 4)
  npm.kill('SIGTERM')
  await once(npm, 'exit')
  await until('all processes are gone', () => processes.every(({ pid }) => !isAlive(pid)))
})

t.test('a service does not start on the data directory or the port of another', async (t) => {
  const sameData = await start(join(dirs, 'one'))
  t.equal((await sameData.exited)[0], 1)
  t.match(sameData.output.stderr, /SIDEVAULT_DATA_DIR/)
  t.notMatch(sameData.output.stderr, / {4}at /, 'a sentence, not a stack')
  const samePort = await start(two, { port: service.port })
  t.equal((await samePort.exited)[0], 1)
  t.match(samePort.output.stderr, /in use.*SIDEVAULT_LISTEN/)
  t.equal((await call('GET', '/readyz')).status, 200, 'the first one goes on')
})

t.test('a key from the environment is used, not printed and not stored', async (t) => {
  t.notMatch(service.output.stdout + service.output.stderr, key)
  t.equal((await call('GET', '/applications/key', { key })).status, 200)
  t.notMatch(allBytes(join(dirs, 'one')), key)
})

t.test('a second signal stops without waiting', async (t) => {
  const use = await applicationBy(call, key)({ permissions: ['token:create', 'token:use'] })
  const { pid: supervisor = 0 } = service.child
  const processes = descendants(supervisor)
  const slow = await slowRequest(url, use, '{"value":1}')
  // No handler is left for a signal that arrives while Node exits: none is sent when the work is done.
  const own = processes.filter(({ parent }) => parent === supervisor)
  const again = setInterval(() => {
    if (own.some(({ pid }) => isAlive(pid))) service.child.kill('SIGINT')
  }, 100)
  t.equal(await service.stop(), 0)
  clearInterval(again)
  await t.rejects(slow.received)
  // what runs code is killed with the process that it belongs to, and is gone a moment later
  await until('every process is gone', () => !processes.some(({ pid }) => isAlive(pid)))
  t.notMatch(allBytes(join(dirs, 'one')), key, 'nor did the stop store the key')
})
