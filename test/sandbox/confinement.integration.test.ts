import { execFile } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { Log } from '../../src/common/log.ts'
import { checkConfinement } from '../../src/sandbox/parent/check-confinement.ts'
import { detectConfinement } from '../../src/sandbox/parent/confinement.ts'
import { CONFINEMENTS } from '../../src/sandbox/types.ts'
import { silentLog } from '../kit/egress.ts'
import { listenFor } from '../kit/listen.ts'
import { descendants } from '../supervisor/processes.ts'
import { openSandbox, returned } from './kit.ts'

const confinement = await detectConfinement([], silentLog())
/** Test of a confinement, where this system provides it. */
const testOf = (name: (typeof CONFINEMENTS)[number]) =>
  confinement.missing.includes(name) ? () => {} : t.test.bind(t)

/** Result of code in plain Node with a child's confinement, without isolated-vm and without Node's own permissions. */
const escaped = async (code: string): Promise<unknown> => {
  const program = `const tried = async (what) => { try { return await what() } catch (error) { return error.code } }
    const fs = require('node:fs'), net = require('node:net'), { spawnSync } = require('node:child_process')
    ;(async () => console.log(JSON.stringify(await (${code})())))()`
  // as the same user: what another one keeps it from is kept from it all the same
  const alone = confinement.wrapper.slice(confinement.wrapper.indexOf('perl'))
  const plain = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : []
  const [file = '', ...args] = [...plain, ...alone, process.execPath, '--jitless', '--eval', program]
  const { stdout } = await promisify(execFile)(file, args, { cwd: '/', env: {} })
  return JSON.parse(stdout)
}

testOf('files')('who breaks out of V8 reads no file of the service and writes none', async (t) => {
  const secret = join(t.testdir({}), 'root.key')
  writeFileSync(secret, 'key', { mode: 0o644 })
  const result = await escaped(`async () => [
    await tried(() => fs.readFileSync(${JSON.stringify(secret)}, 'utf8')),
    await tried(() => fs.readFileSync('/proc/${process.pid}/environ', 'utf8')),
    await tried(() => fs.readFileSync('/proc/${process.pid}/root/etc/passwd', 'utf8')),
    await tried(() => fs.openSync('/proc/self/mem', 'r+')),
    await tried(() => fs.readdirSync('/')),
    await tried(() => fs.writeFileSync('/tmp/sandbox-was-here', '')),
    await tried(() => fs.readFileSync('/proc/self/stat', 'utf8').length > 0),
  ]`)
  t.same(result, ['EACCES', 'EACCES', 'EACCES', 'EACCES', 'EACCES', 'EACCES', true])
})

testOf('syscalls')('… reaches no network and no socket, starts no process, ends no other', async (t) => {
  const server = createServer((socket) => socket.end('reached'))
  const port = await listenFor(t, server)
  const reach = (where: string) =>
    `await tried(() => new Promise((resolve, reject) => net.connect(${where}).on('error', reject).on('data', (data) => resolve(String(data)))))`
  const result = await escaped(`async () => [
    ${reach(`${port}, "127.0.0.1"`)},
    ${reach('"/var/run/postgresql/.s.PGSQL.5432"')},
    spawnSync(process.execPath, ['--version']).error.code,
    await tried(() => process.kill(${process.pid}, 0)),
    await tried(() => require('node:os').setPriority(${process.pid}, 19)),
  ]`)
  t.same(result, ['EPERM', 'EPERM', 'EPERM', 'EPERM', 'ERR_SYSTEM_ERROR'])
})

testOf('syscalls')('… lets the kernel send no signal for it', async (t) => {
  // without landlock, which denies that in new kernels only
  const filter = confinement.wrapper.slice(confinement.wrapper.indexOf('perl')).with(-1, '')
  const commands = `pipe(my $read, my $write);
    my ($owner, $group) = (pack('l', ${process.pid}), pack('l', -${process.pid}));
    my @results = (
      fcntl($read, 3, 0), fcntl($read, 8, ${process.pid}), fcntl($read, 10, 9), fcntl($read, 15, $owner),
      ioctl($read, 0x8901, $owner), ioctl($read, 0x8902, $group), ioctl($read, 0x5452, $owner),
    );
    fcntl($read, 8, ${process.pid});
    print join(' ', map { defined $_ ? 'done' : 'denied' } @results), ' ', $! + 0;`
  const { stdout } = await promisify(execFile)(filter[0]!, [...filter.slice(1), 'perl', '-e', commands])
  t.equal(stdout, `done ${Array(6).fill('denied').join(' ')} 1`, 'EPERM')
})

testOf('files')('a descriptor that the service was started with is closed', async (t) => {
  const path = join(t.testdir({}), 'leaked')
  writeFileSync(path, 'leaked')
  const [file = '', ...args] = [...confinement.wrapper, process.execPath, '--eval']
  const list = `let open = 0
    for (let fd = 3; fd < 64; fd++) try { if (require('node:fs').fstatSync(fd).ino === ${statSync(path).ino}) open++ } catch {}
    console.log(open)`
  // descriptor 9 stays open in processes that the shell starts
  const leaking = ['-c', `exec 9<"${path}"; exec "$@"`, 'sh']
  const plain = await promisify(execFile)('/bin/sh', [...leaking, process.execPath, '--eval', list])
  t.equal(plain.stdout, '1\n', 'without confinement it is open')
  t.equal((await promisify(execFile)('/bin/sh', [...leaking, file, ...args, list])).stdout, '0\n')
})

t.test('an aborted detection rejects after its processes have ended', async (t) => {
  const probes = () => descendants(process.pid).filter(({ command }) => command.includes('isolated-vm.js'))
  const end = new AbortController()
  const detection = detectConfinement([], silentLog(), end.signal)
  t.not(probes().length, 0)
  end.abort(new Error('stopping'))
  await t.rejects(detection, { message: 'stopping' })
  t.same(probes(), [])
  await t.rejects(detectConfinement([], silentLog(), end.signal), { message: 'stopping' })
})

t.test('missing confinement is a warning, and an error with a fix where it is required', async (t) => {
  const warnings: unknown[] = []
  const log = { ...silentLog(), warn: (line: unknown) => warnings.push(line) } as unknown as Log
  const missing = ['uid'] as const
  checkConfinement({ missing }, ['network'], log)
  t.same(warnings, [{ missing }])
  t.throws(() => checkConfinement({ missing }, ['files', 'uid'], log), {
    code: 'invalid',
    message: /SIDEVAULT_SANDBOX_REQUIRE .*: uid \(needs: start as root/,
  })
  checkConfinement({ missing: [] }, CONFINEMENTS, log)
  t.equal(warnings.length, 2, 'and nothing where all is there')
})

t.test(
  'with one tenant per child, an idle child is replaced for another tenant, and no tenant has all children',
  async (t) => {
    const { run, pids } = await openSandbox(t, { children: 2, require: ['tenant'] })
    const started = new Set(pids)
    const tenants = ['a', 'b', 'c', 'a', 'b', 'c']
    for (const tenantId of tenants) {
      t.equal(returned(await run('module.exports = () => 1', { tenantId })), 1)
      for (const pid of pids) started.add(pid)
    }
    t.ok(
      started.size >= 4,
      `${started.size} processes for ${tenants.length} changes between three tenants in two places`,
    )
    const slow = 'module.exports = () => new Promise((done) => setTimeout(done, 60_000))'
    const end = new AbortController()
    const flood = Array.from({ length: 8 }, () =>
      run(slow, { tenantId: 'a', signal: end.signal, limits: { wallMs: 60_000 } }),
    )
    t.equal(
      returned(await run('module.exports = () => 2', { tenantId: 'd' })),
      2,
      'while one waits in all that it may have',
    )
    end.abort()
    await Promise.all(flood)
  },
)
