import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { handOver, shownKey } from '../../src/supervisor/generated-key.ts'
import { startupBanner } from '../../src/supervisor/startup-banner.ts'
import { freePort } from '../kit/sidevault.ts'
import { descendants, isAlive, until } from './processes.ts'
import { start } from './start.ts'

const pasted = (stdout: string) => stdout.split('\n').filter((line) => /^(curl|[A-Z]+=\$\(curl)/.test(line))

const allBytes = (directory: string): string =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')

t.test('the three printed lines show the card number at the destination, in sh and in bash', async (t) => {
  const dataDir = join(t.testdir(), 'a path with spaces')
  const first = await start(dataDir)
  const file = join(dataDir, 'management.key')
  const key = readFileSync(file, 'utf8').trim()
  t.match(key, /^key_[1-9A-HJ-NP-Za-km-z]{20,}$/)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.ok(first.output.stdout.includes(file), 'its file is printed')
  t.notMatch(first.output.stdout + first.output.stderr, key, 'and not the key: a pipe may end in a log')
  const lines = pasted(first.output.stdout)
  t.equal(lines.length, 3)
  for (const shell of ['sh', 'bash']) {
    const printed = execFileSync(shell, { input: `${lines.join('\n')}\n`, encoding: 'utf8' })
    t.equal(JSON.parse(printed).body.card, '4242424242424242', shell)
  }
  const nowhere = lines.join('\n').replace('demo.sidevault.test', 'unknown.invalid')
  t.equal(JSON.parse(execFileSync('sh', { input: nowhere, encoding: 'utf8' })).proxy_error.status, 502)
  await until('the failure is logged', () => first.output.stderr.includes('"msg":"failed call"'))
  t.equal(statSync(dataDir).mode & 0o777, 0o700)
  rmSync(file)
  t.notMatch(allBytes(dataDir), key, 'no other file holds the key')
  t.equal(await first.stop(), 0)

  const second = await start(dataDir)
  t.notMatch(second.output.stdout, /key_/, 'a second start prints no key')
  t.notMatch(second.output.stderr, /key_/)
  const again = pasted(second.output.stdout)
  t.equal(again.length, 3)
  t.match(second.output.stdout, /Set SIDEVAULT_BOOTSTRAP_KEY/)
  const printed = execFileSync('sh', {
    input: again.join('\n'),
    encoding: 'utf8',
    env: { PATH: process.env.PATH, SIDEVAULT_BOOTSTRAP_KEY: key },
  })
  t.equal(JSON.parse(printed).body?.card, '4242424242424242', `the first key still holds: ${printed}`)
  t.equal(await second.stop(), 0)
})

t.test('a terminal shows the key itself, and no file contains it', async (t) => {
  const dataDir = t.testdir({})
  const announced = {
    config: { headerPrefixes: ['SVC'], dataDir, tls: undefined, loopback: true, console: true },
    ...{
      listen: { host: '127.0.0.1', port: 8080 },
      api: undefined,
      forward: undefined,
      role: 'all' as const,
      firstSteps: true,
      installed: true,
    },
  } as const
  const key = handOver('key_marker', dataDir, true)
  t.equal(
    startupBanner({ ...announced, key }).split('key_marker').length,
    3,
    'once to keep, once in the first line',
  )
  t.same(readdirSync(dataDir), [])
})

t.test('a key whose file cannot be written is reported with the remedy', async (t) => {
  const key = handOver('key_marker', join(t.testdir(), 'missing'), false)
  t.match(shownKey(key), /^lost: .*management\.key cannot be written \(ENOENT\).*tenants new-key/)
})

t.test('two services run on one machine, but not on one data directory or one port', async (t) => {
  const dirs = t.testdir()
  const key = 'key_from-the-environment-0123456789'
  const service = await start(join(dirs, 'one'), { env: { SIDEVAULT_BOOTSTRAP_KEY: key } })
  const two = await start(join(dirs, 'two'))
  for (const { port } of [service, two]) t.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)

  const sameData = await start(join(dirs, 'one'))
  t.equal((await sameData.exited)[0], 1)
  t.match(sameData.output.stderr, /SIDEVAULT_DATA_DIR/)
  t.notMatch(sameData.output.stderr, / {4}at /, 'a sentence, not a stack')

  t.equal(await two.stop(), 0)
  const samePort = await start(join(dirs, 'two'), { port: service.port })
  t.equal((await samePort.exited)[0], 1)
  t.match(samePort.output.stderr, /in use.*SIDEVAULT_LISTEN/)
  t.equal((await fetch(`http://127.0.0.1:${service.port}/readyz`)).status, 200, 'the first one goes on')

  await t.test('a key from the environment is used, not printed and not stored', async (t) => {
    t.notMatch(service.output.stdout + service.output.stderr, key)
    const url = `http://127.0.0.1:${service.port}/applications/key`
    t.equal((await fetch(url, { headers: { 'svc-api-key': key } })).status, 200)
    t.equal(await service.stop(), 0)
    t.notMatch(allBytes(join(dirs, 'one')), key)
  })
})

t.test('npm start exits with npm', async (t) => {
  const dataDir = t.testdir()
  const port = await freePort()
  const npm = spawn('npm', ['start'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, SIDEVAULT_DATA_DIR: dataDir, SIDEVAULT_LISTEN: `127.0.0.1:${port}` },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let stdout = ''
  npm.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  await until('ready', () => stdout.includes('\ncurl '))
  const processes = descendants(npm.pid ?? 0)
  t.ok(processes.length >= 4)
  npm.kill('SIGTERM')
  await once(npm, 'exit')
  await until('all processes are gone', () => processes.every(({ pid }) => !isAlive(pid)))
})
