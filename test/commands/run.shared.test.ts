import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { partsBelow } from '../bench/processes.ts'
import { FORWARD_PROXY, sharedSidevault } from '../kit/shared-sidevault.ts'
import { root } from '../kit/sources.ts'
import { command } from './in-process.ts'

const service = await sharedSidevault(FORWARD_PROXY)
const key = service.managementKey
const temporary = t.testdir()
const api = async (method: string, path: string, body?: object, as = key) => {
  const response = await service.call(method, path, { key: as, ...(body ? { body } : {}) })
  if (response.status >= 400) throw new Error(response.text)
  return response.json
}
const { id: application, key: applicationKey } = await api('POST', '/applications', {
  name: 'Run',
  type: 'private',
  permissions: ['token:create', 'token:use'],
})

/** Starts the command as a user would, in another directory. */
const start = (args: readonly string[], env: Record<string, string> = {}) => {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [join(root, 'bin/sidevault.js'), ...args], {
    cwd: temporary,
    env: { PATH, HOME, TMPDIR: temporary, SIDEVAULT_DATA_DIR: service.dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // No terminal: it would send SIGINT to all.
    detached: true,
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  return { child, ended: once(child, 'close').then(([code]) => ({ code: code as number, out, err })) }
}
const sidevault = (args: readonly string[], env?: Record<string, string>) => start(args, env).ended
const run = (...words: string[]) => sidevault(['run', '--application', application, '--', ...words])
/** The command in this process, for what prints nothing. */
const quiet = (args: readonly string[], env: Record<string, string> = {}) =>
  command(temporary, args, { TMPDIR: temporary, SIDEVAULT_DATA_DIR: service.dataDir, ...env })
const runQuiet = (...words: string[]) => quiet(['run', '--application', application, '--', ...words])
const node = (code: string) => [process.execPath, '-e', code]
const keys = async (): Promise<{ id: string; expires_at?: string }[]> =>
  api('GET', `/applications/${application}/keys`)
const remainingFiles = () => readdirSync(temporary).filter((name) => name.startsWith('sidevault-run-'))
const firstLine = async (child: ChildProcess) => String((await once(child.stdout as never, 'data'))[0])

await api('POST', '/proxies', {
  name: 'Demo',
  destination_url: 'https://demo.sidevault.test/pay',
  intercept: true,
})
const { id: token } = await api(
  'POST',
  '/tokens',
  { type: 'token', data: '4000056655665556' },
  applicationKey,
)

t.test('a program gets values in the place of tokens, with a key that is deleted when it ends', async (t) => {
  const body = JSON.stringify({ card: `{{ ${token} }}` })
  const code = `const response = await fetch('https://demo.sidevault.test/pay', { method: 'POST',
    headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(body)} })
    console.log(response.status, await response.text())
    console.log(process.env.HTTPS_PROXY)`
  const before = await keys()
  const { code: exit, out, err } = await run(...node(`(async () => {${code}})()`))
  t.equal(exit, 0, err)
  t.match(out, /^200 .*4000056655665556/s)
  const [, used = ''] = /^http:\/\/x:(\S+)@127/m.exec(out) ?? []
  t.match(used, /^key_/)
  t.equal((await service.call('GET', '/applications/key', { key: used })).status, 401, 'it has ended')
  t.same(await keys(), before)
  t.same(remainingFiles(), [], 'files of the run are removed')
  const logs = await api('GET', '/logs?entity_type=application_key&size=4')
  t.match(logs.data.map((log: { operation: string }) => log.operation).slice(0, 2), ['delete', 'create'])
})

t.test('curl and Python trust the certificate', async (t) => {
  const curl = await run('curl', '-sS', '-d', 'a=b', 'https://demo.sidevault.test/pay')
  t.equal(curl.code, 0, curl.err)
  const python = `import urllib.request as r; print(r.urlopen('https://demo.sidevault.test/pay', data=b'{}').status)`
  const { code, out, err } = await run('python3', '-c', python)
  t.match({ code, out }, { code: 0, out: '200\n' }, err)
})

t.test('a run has the exit code of its command, which runs where it was called', async (t) => {
  t.equal((await runQuiet('sh', '-c', 'exit 7')).code, 7)
  t.equal((await runQuiet('sh', '-c', 'kill -9 $$')).code, 137)
  t.match(await runQuiet('no-such-command'), { code: 127, err: /"no-such-command" was not found/ })
  writeFileSync(join(temporary, 'plain.txt'), '')
  t.match(await runQuiet('./plain.txt/x'), { code: 127, err: /"\.\/plain\.txt\/x" was not found/ })
  symlinkSync('loop', join(temporary, 'loop'))
  for (const name of ['./plain.txt', './loop', 'x'.repeat(300), '']) {
    const { code, err } = await runQuiet(name)
    t.match({ code, err }, { code: 126, err: `"${name}" cannot be executed\n` })
    t.notMatch(err, /^ {4}at /m)
  }
  t.equal((await run('pwd')).out.trim(), temporary)
  t.same(
    (await keys()).filter(({ expires_at }) => expires_at),
    [],
  )
})

t.test('signals are passed to the command, and its key is deleted afterwards', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const) {
    const code = `process.on('${signal}', () => process.exit(9)); console.log('up'); setInterval(() => {}, 1000)`
    const { child, ended } = start(['run', '--application', application, '--', ...node(code)])
    await firstLine(child)
    const [own] = (await keys()).filter(({ expires_at }) => expires_at)
    t.match(own, { expires_at: String }, 'while it runs its key has an end')
    child.kill(signal)
    t.equal((await ended).code, 9, signal)
    t.same(
      (await keys()).filter(({ expires_at }) => expires_at),
      [],
      signal,
    )
  }
})

/**
 * Runs `command` in a terminal of its own with another standard input, and ends it after Ctrl-C. Prints what it
 * printed.
 */
const IN_TERMINAL = `
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
    os.execvp(sys.argv[1], sys.argv[1:])
out = b''
def until(text):
    global out
    while text not in out:
        out += os.read(terminal, 1024)
until(b'up')
os.write(terminal, b'\\x03')
until(b'interrupted')
os.kill(pid, signal.SIGTERM)
until(b'in all')
os.waitpid(pid, 0)
print(out.decode())
`

t.test('Ctrl-C reaches the command once, also when its standard input is a file', async (t) => {
  const code = `let times = 0
    process.on('SIGINT', () => console.log('interrupted', ++times))
    process.on('SIGTERM', () => { console.log(times, 'in all'); process.exit() })
    console.log('up'); setInterval(() => {}, 1000)`
  const command = [process.execPath, join(root, 'bin/sidevault.js'), 'run', '--application', application]
  const { PATH = '', HOME = '' } = process.env
  const { stdout, stderr } = spawnSync('python3', ['-c', IN_TERMINAL, ...command, '--', ...node(code)], {
    env: { PATH, HOME, TMPDIR: temporary, SIDEVAULT_DATA_DIR: service.dataDir },
    encoding: 'utf8',
  })
  t.match(stdout, /^1 in all/m, stderr)
})

t.test('keys of runs are not among the three of an application', async (t) => {
  const waiting = node("console.log('up'); setInterval(() => {}, 1000)")
  const runs = Array.from({ length: 3 }, () => start(['run', '--application', application, '--', ...waiting]))
  await Promise.all(runs.map(({ child }) => firstLine(child)))
  t.equal((await keys()).length, 4)
  const { id } = await api('POST', `/applications/${application}/keys`)
  await service.call('DELETE', `/applications/${application}/keys/${id}`, { key })
  t.equal((await service.call('POST', `/applications/${application}/regenerate`, { key })).status, 200)
  t.equal((await keys()).length, 4, 'they stay')
  for (const { child } of runs) child.kill('SIGTERM')
  await Promise.all(runs.map(({ ended }) => ended))
})

t.test('--key-env uses the key of a variable, which the command does not get', async (t) => {
  const { key: given } = await api('POST', `/applications/${application}/keys`)
  const args = [
    'run',
    '--key-env',
    'MY_KEY',
    '--',
    ...node('console.log(process.env.MY_KEY, process.env.HTTPS_PROXY)'),
  ]
  const { code, out, err } = await sidevault(args, { MY_KEY: given })
  t.equal(code, 0, err)
  t.match(out, new RegExp(`^undefined http://x:${given}@`))
  t.match(await quiet(args), { code: 2, err: /"MY_KEY" of --key-env is not set/ })
})

t.test('a run that cannot start reports why', async (t) => {
  const of = (...args: string[]) => quiet(['run', ...args])
  t.match(await of('--', 'true'), { code: 2, err: /--application or --key-env/ })
  t.match(await of('--application', application, '--key-env', 'A', '--', 'true'), { code: 2 })
  t.match(await of('--application', application), { code: 2, err: /missing required argument/ })
  t.match(await of('--application', 'none', '--', 'true'), { code: 1, err: /no private application "none"/ })
  const absent = await quiet(['run', '--application', application, '--', 'true'], {
    SIDEVAULT_DATA_DIR: t.testdir(),
  })
  t.match(absent, { code: 1, err: /No service runs on the data directory/ })
  const missing = await quiet(['run', '--application', application, '--', 'true'], {
    SIDEVAULT_DATA_DIR: join(temporary, 'missing'),
  })
  t.match(missing, { code: 1, err: /^sidevault: No service runs on the data directory/ })
  const removed = spawnSync(
    'sh',
    [
      '-c',
      'mkdir gone && cd gone && rmdir ../gone && exec "$@"',
      'sh',
      process.execPath,
      join(root, 'bin/sidevault.js'),
    ].concat('run --application a -- true'.split(' ')),
    { cwd: temporary, encoding: 'utf8' },
  )
  t.match(removed, { status: 1, stderr: /^sidevault: The working directory was removed\..*\n$/ })
})

t.test('a run that cannot write its trust files leaves no key', async (t) => {
  const before = await keys()
  const of = (env: Record<string, string>) => quiet(['run', '--application', application, '--', 'true'], env)
  writeFileSync(
    join(temporary, 'damaged.pem'),
    '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----',
  )
  for (const [env, err] of [
    [
      { NODE_EXTRA_CA_CERTS: 'missing.pem' },
      /^sidevault: .*"missing\.pem" of NODE_EXTRA_CA_CERTS.*ENOENT.*$/m,
    ],
    [{ SSL_CERT_FILE: 'missing.pem' }, /^sidevault: .*"missing\.pem" of SSL_CERT_FILE.*$/m],
    [{ SSL_CERT_FILE: 'damaged.pem' }, /^sidevault: .*SSL_CERT_FILE.*damaged.*$/m],
    [{ TMPDIR: 'missing' }, /^sidevault: .*missing.*TMPDIR.*$/m],
  ] as const) {
    const ended = await of(env)
    t.match(ended, { code: 1, err })
    t.notMatch(ended.err, /^ {4}at /m)
  }
  t.same(await keys(), before)
})

t.test('paths of trust files are relative to where the run was called', async (t) => {
  const { text } = await service.call('GET', '/ca.pem')
  writeFileSync(join(temporary, 'own.pem'), text)
  const args = ['run', '--application', application, '--', 'true']
  const env = { NODE_EXTRA_CA_CERTS: 'own.pem', SSL_CERT_FILE: 'own.pem', TMPDIR: '.' }
  t.match(await quiet(args, env), { code: 0 })
})

t.test('ca print is what /ca.pem serves; ca rotate adds to it', async (t) => {
  const served = async () => (await service.call('GET', '/ca.pem')).text
  const first = await served()
  t.match(await quiet(['ca', 'print']), { code: 0, out: first })
  const { code, out, err } = await quiet(['ca', 'rotate'])
  t.match({ code, out }, { code: 0, out: /^signs {3}from 20/ }, err)
  t.match(await quiet(['ca', 'rotate']), { code: 1, err: /--now/ })
  const both = await served()
  t.equal(both.split('BEGIN CERTIFICATE').length, 3)
  t.ok(both.startsWith(first))
  t.match(await quiet(['ca', 'rotate', '--now']), { code: 0, out: /^signs {3}from now on/ })
  t.equal((await run('curl', '-sS', '-d', 'a=b', 'https://demo.sidevault.test/pay')).code, 0)
})

t.test('SIGUSR1 opens no inspector of the service', async (t) => {
  const pids = [service.pid, ...Object.values(partsBelow(service.pid))]
  t.ok(pids.length > 3)
  const { pid: envoy } = { pid: partsBelow(service.pid).envoy }
  for (const pid of pids) if (pid !== envoy) process.kill(pid, 'SIGUSR1')
  t.equal((await service.call('GET', '/readyz')).status, 200)
  t.notMatch(service.stderr(), /Debugger listening/)
})

t.test('no private key is in logs and metrics', async (t) => {
  const metrics = (await service.call('GET', '/metrics')).text
  for (const text of [metrics, service.stdout(), service.stderr()])
    t.notMatch(text, /PRIVATE KEY|MHcCAQ|MIGHAgEA/)
})
