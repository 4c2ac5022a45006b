import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { printConfig } from '../../src/config/print.ts'
import { ConfigError, loadConfig } from '../../src/config.ts'

const issuesOf = (env: Record<string, string>, cwd = t.testdirName) => {
  try {
    loadConfig(env, { cwd })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.issues
    throw error
  }
}

t.test('an empty environment gives the documented defaults', async (t) => {
  const config = loadConfig({}, { cwd: '/srv/vault' })
  t.match(config, {
    listen: { host: '127.0.0.1', port: 8080 },
    loopback: true,
    console: true,
    dataDir: '/srv/vault/.sidevault',
    store: '/srv/vault/.sidevault/sidevault.db',
    bootstrapKey: undefined,
    headerPrefixes: ['SVC'],
    rootKeySource: undefined,
    plugins: ['*'],
    egress: { allow: [], ports: [443], http: false, ca: undefined, resolvers: [] },
    tls: undefined,
    workers: 1,
    sandboxMemoryMb: 700,
    sandboxRequire: [],
    bodyLimit: 1_048_576,
    proxyBodyLimit: 8_388_608,
    destinationTimeoutMs: 25_000,
    cvcSeconds: undefined,
    auditSync: false,
    auditRetention: { days: 30, mib: undefined },
  })
})

t.test('every setting can be set by a variable', async (t) => {
  const dir = t.testdir({ 'cert.pem': 'c', 'key.pem': 'k', 'ca.pem': 'a' })
  const config = loadConfig(
    {
      SIDEVAULT_LISTEN: '[::]:9443',
      SIDEVAULT_DATA_DIR: 'data dir',
      SIDEVAULT_BOOTSTRAP_KEY: 'key_0123456789abcdef0123456789',
      SIDEVAULT_HEADER_PREFIXES: 'svc, BT',
      SIDEVAULT_STORE: 'sqlite',
      SIDEVAULT_REDIS_URL: 'rediss://user:p%40ss@cache.internal:6380/2',
      SIDEVAULT_ROOT_KEY: 'file:root.key',
      SIDEVAULT_PLUGINS: '*,./mine,@acme/loyalty',
      SIDEVAULT_PLUGIN_CONFIG: '{"loyalty":{"limit":3}}',
      SIDEVAULT_EGRESS_ALLOW: '10.1.0.0/16,fd00::/8,192.168.7.1',
      SIDEVAULT_EGRESS_PORTS: '*',
      SIDEVAULT_EGRESS_HTTP: 'true',
      SIDEVAULT_EGRESS_CA: 'ca.pem',
      SIDEVAULT_EGRESS_DNS: '10.0.0.2,[fd00::2]:5353',
      SIDEVAULT_TLS_CERT: 'cert.pem',
      SIDEVAULT_TLS_KEY: 'key.pem',
      SIDEVAULT_WORKERS: '3',
      SIDEVAULT_SANDBOX_MEMORY_MIB: '3500',
      SIDEVAULT_SANDBOX_REQUIRE: 'network,files',
      SIDEVAULT_LOG_LEVEL: 'warn',
      SIDEVAULT_BODY_LIMIT: '2048',
      SIDEVAULT_PROXY_BODY_LIMIT: '4096',
      SIDEVAULT_DESTINATION_TIMEOUT_SECONDS: '5',
      SIDEVAULT_CVC_SECONDS: '60',
      SIDEVAULT_AUDIT_SYNC: '1',
      SIDEVAULT_AUDIT_RETENTION_DAYS: 'forever',
      SIDEVAULT_AUDIT_RETENTION_MIB: '512',
      SIDEVAULT_DRAIN_SECONDS: '0',
    },
    { cwd: dir },
  )
  t.match(config, {
    listen: { host: '::', port: 9443 },
    loopback: false,
    dataDir: join(dir, 'data dir'),
    headerPrefixes: ['SVC', 'BT'],
    plugins: ['*', './mine', '@acme/loyalty'],
    pluginConfig: { loyalty: { limit: 3 } },
    egress: {
      allow: ['10.1.0.0/16', 'fd00::/8', '192.168.7.1/32'],
      ports: '*',
      http: true,
      ca: join(dir, 'ca.pem'),
      resolvers: [
        { address: '10.0.0.2', port: 53 },
        { address: 'fd00::2', port: 5353 },
      ],
    },
    tls: { certificate: join(dir, 'cert.pem'), key: join(dir, 'key.pem') },
    workers: 3,
    sandboxMemoryMb: 3500,
    sandboxRequire: ['network', 'files'],
    logLevel: 'warn',
    bodyLimit: 2048,
    proxyBodyLimit: 4096,
    destinationTimeoutMs: 5000,
    cvcSeconds: 60,
    auditSync: true,
    auditRetention: { days: 'forever', mib: 512 },
    drainMs: 0,
  })
  t.equal(config.bootstrapKey?.reveal(), 'key_0123456789abcdef0123456789')
  t.equal(config.rootKeySource?.reveal(), `file:${join(dir, 'root.key')}`, 'also after a change of directory')
})

const TABLE: readonly [variable: string, value: string, message: RegExp][] = [
  ['LISTEN', '8080', /address and a port/],
  ['LISTEN', 'example.com:80', /address and a port/],
  ['LISTEN', '127.0.0.1:65536', /address and a port/],
  ['LISTEN', '0.0.0.0:8080', /other machines/],
  ['LISTEN', '[::]:8080', /other machines/],
  ['API_LISTEN', '0.0.0.0:8081', /clear text/],
  ['FORWARD_LISTEN', '0.0.0.0:8090', /clear text/],
  ['FORWARD_CA', 'absent.pem', /cannot be read/],
  ['BOOTSTRAP_KEY', 'guess-me-1234567890-123', /not valid/],
  ['SANDBOX_REQUIRE', 'uid,netns', /not valid/],
  ['BOOTSTRAP_KEY', 'with a blank inside it', /not valid/],
  ['HEADER_PREFIXES', 'SVC,B T', /header prefix/],
  ['HEADER_PREFIXES', ',', /empty/],
  ['STORE', 'postgres://user:secret-word@db', /URL of a database/],
  ['STORE', 'postgres://user:secret-word@db/x?sslmode=prefer', /sslmode/],
  ['STORE', 'mysql://user:secret-word@db/x', /not a store/],
  ['REDIS_URL', 'http://:secret-word@cache', /not a Redis URL/],
  ['REDIS_URL', 'redis://:secret-word%zz@cache', /not a Redis URL/],
  ['REDIS_URL', 'redis://:secret-word@cache/db', /not a Redis URL/],
  ['REDIS_URL', 'redis:///secret-word', /not a Redis URL/],
  ['ROOT_KEY', 'secret-word', /not valid/],
  ['PLUGIN_CONFIG', '{"secret-word"', /not valid/],
  ['EGRESS_ALLOW', '10.0.0.0/33', /CIDR/],
  ['EGRESS_ALLOW', 'internal', /CIDR/],
  ['EGRESS_ALLOW', '10/8', /CIDR/],
  ['EGRESS_ALLOW', '010.1.0.0/16', /CIDR/],
  ['EGRESS_PORTS', '443,https', /not a port/],
  ['EGRESS_PORTS', '0,99999', /"0" is not a port\. "99999" is not a port\./],
  ['EGRESS_HTTP', 'maybe', /not valid/],
  ['EGRESS_CA', 'absent.pem', /cannot be read/],
  ['EGRESS_DNS', 'resolver', /name server/],
  ['WORKERS', '0', /not valid/],
  ['WORKERS', 'two', /not valid/],
  ['LOG_LEVEL', 'loud', /not valid/],
  ['BODY_LIMIT', '-1', /not valid/],
  ['DESTINATION_TIMEOUT_SECONDS', '1.5', /not valid/],
]

for (const [variable, value, message] of TABLE)
  t.test(`SIDEVAULT_${variable}=${value} is an issue with a fix and without a secret`, async (t) => {
    const issues = issuesOf({ [`SIDEVAULT_${variable}`]: value })
    t.equal(issues.length, 1)
    t.match(issues[0], { name: `SIDEVAULT_${variable}`, message, fix: /\w/ })
    t.notMatch(JSON.stringify(issues), /secret-word/)
  })

t.test('a certificate requires its key, both in readable files', async (t) => {
  const dir = t.testdir({ 'cert.pem': 'c' })
  t.match(issuesOf({ SIDEVAULT_TLS_CERT: 'cert.pem' }, dir), [{ name: 'SIDEVAULT_TLS_KEY' }])
  t.match(issuesOf({ SIDEVAULT_TLS_KEY: 'cert.pem' }, dir), [{ name: 'SIDEVAULT_TLS_CERT' }])
  t.match(issuesOf({ SIDEVAULT_TLS_CERT: 'cert.pem', SIDEVAULT_TLS_KEY: 'none.pem' }, dir), [
    { name: 'SIDEVAULT_TLS_KEY', message: /cannot be read/ },
  ])
})

t.test('listening beyond loopback without TLS requires an explicit setting', async (t) => {
  const config = loadConfig({ SIDEVAULT_LISTEN: '0.0.0.0:80', SIDEVAULT_INSECURE_LISTEN: 'true' })
  t.match(config, { listen: { host: '0.0.0.0', port: 80 }, loopback: false })
})

t.test('the console is on while all listeners are on loopback, or when enabled', (t) => {
  const dir = t.testdir({ 'cert.pem': 'c', 'key.pem': 'k' })
  const tls = { SIDEVAULT_TLS_CERT: `${dir}/cert.pem`, SIDEVAULT_TLS_KEY: `${dir}/key.pem` }
  const console = (env: Record<string, string>) => loadConfig({ ...tls, ...env }).console
  t.equal(console({}), true)
  t.equal(console({ SIDEVAULT_CONSOLE: 'false' }), false)
  t.equal(console({ SIDEVAULT_API_LISTEN: '[::1]:8081' }), true)
  t.equal(console({ SIDEVAULT_LISTEN: '0.0.0.0:8443' }), false)
  t.equal(console({ SIDEVAULT_API_LISTEN: '0.0.0.0:8081' }), false)
  t.equal(console({ SIDEVAULT_LISTEN: '0.0.0.0:8443', SIDEVAULT_CONSOLE: 'true' }), true)
  t.end()
})

t.test('the listener of the management API is on loopback, or has a certificate', async (t) => {
  const dir = t.testdir({ 'cert.pem': 'c', 'key.pem': 'k' })
  t.equal(loadConfig({}).apiListen, undefined)
  t.match(loadConfig({ SIDEVAULT_API_LISTEN: '[::1]:8081' }).apiListen, { host: '::1', port: 8081 })
  const open = { SIDEVAULT_API_LISTEN: '0.0.0.0:8081' }
  t.match(issuesOf({ ...open, SIDEVAULT_INSECURE_LISTEN: 'true' }), [{ name: 'SIDEVAULT_API_LISTEN' }])
  const tls = { SIDEVAULT_TLS_CERT: 'cert.pem', SIDEVAULT_TLS_KEY: 'key.pem' }
  t.match(loadConfig({ ...open, ...tls }, { cwd: dir }).apiListen, { port: 8081 })
  t.match(issuesOf({ SIDEVAULT_API_LISTEN: '127.0.0.1:8080' }), [{ message: /SIDEVAULT_LISTEN/ }])
})

t.test('the listener of operators takes no keys, so it needs no certificate', (t) => {
  t.equal(loadConfig({}).opsListen, undefined)
  t.match(loadConfig({ SIDEVAULT_OPS_LISTEN: '0.0.0.0:9090' }).opsListen, { host: '0.0.0.0', port: 9090 })
  const env = { SIDEVAULT_OPS_LISTEN: '127.0.0.1:9090' }
  for (const [other, issue] of [
    ['SIDEVAULT_LISTEN', { name: 'SIDEVAULT_OPS_LISTEN', message: /port 9090 is that of SIDEVAULT_LISTEN/ }],
    ['SIDEVAULT_API_LISTEN', { name: 'SIDEVAULT_OPS_LISTEN', message: /SIDEVAULT_API_LISTEN/ }],
    ['SIDEVAULT_FORWARD_LISTEN', { name: 'SIDEVAULT_FORWARD_LISTEN', message: /SIDEVAULT_OPS_LISTEN/ }],
  ] as const)
    t.match(issuesOf({ ...env, [other]: '127.0.0.1:9090' }), [issue])
  t.end()
})

t.test('the forward proxy is off by default, and requires a certificate beyond loopback', async (t) => {
  const dir = t.testdir({ 'cert.pem': 'c', 'key.pem': 'k', 'ca.pem': 'c' })
  t.match(loadConfig({}), { forwardListen: undefined, forwardCa: undefined })
  t.match(loadConfig({ SIDEVAULT_FORWARD_LISTEN: '127.0.0.1:8090' }).forwardListen, { port: 8090 })
  const open = { SIDEVAULT_FORWARD_LISTEN: '0.0.0.0:8090' }
  t.match(issuesOf({ ...open, SIDEVAULT_INSECURE_LISTEN: 'true' }), [{ name: 'SIDEVAULT_FORWARD_LISTEN' }])
  const tls = { SIDEVAULT_TLS_CERT: 'cert.pem', SIDEVAULT_TLS_KEY: 'key.pem' }
  const config = loadConfig({ ...open, ...tls, SIDEVAULT_FORWARD_CA: 'ca.pem' }, { cwd: dir })
  t.match(config, { forwardListen: { host: '0.0.0.0', port: 8090 }, forwardCa: `${dir}/ca.pem` })
  const env = { SIDEVAULT_FORWARD_LISTEN: '127.0.0.1:8081', SIDEVAULT_API_LISTEN: '127.0.0.1:8081' }
  t.match(issuesOf(env), [{ name: 'SIDEVAULT_FORWARD_LISTEN', message: /SIDEVAULT_API_LISTEN/ }])
})

t.test('all issues are listed at once, in one message', async (t) => {
  const env = Object.fromEntries(TABLE.map(([variable, value]) => [`SIDEVAULT_${variable}`, value]))
  const issues = issuesOf(env)
  t.equal(new Set(issues.map(({ name }) => name)).size, Object.keys(env).length)
  const { message } = new ConfigError(issues)
  for (const { name } of issues) t.match(message, name)
})

t.test('a YAML or JSON file holds the same settings and the environment wins', async (t) => {
  const dir = t.testdir({
    'settings.yaml':
      'listen: 127.0.0.1:7000\nworkers: 2\negress_ports: [443, 8443]\nheader_prefixes: SVC,BT\nplugin_config:\n  card: { a: 1 }\n',
    'settings.json': '{ "listen": "127.0.0.1:7001", "log_level": "error" }',
    'broken.yaml': 'listen: [secret-word',
    'list.yaml': '- listen',
  })
  const yaml = loadConfig({ SIDEVAULT_CONFIG: 'settings.yaml', SIDEVAULT_WORKERS: '4' }, { cwd: dir })
  t.match(yaml, {
    listen: { port: 7000 },
    workers: 4,
    egress: { ports: [443, 8443] },
    headerPrefixes: ['SVC', 'BT'],
    pluginConfig: { card: { a: 1 } },
  })
  t.match(loadConfig({}, { cwd: dir, file: 'settings.json' }), { listen: { port: 7001 }, logLevel: 'error' })
  for (const name of ['broken.yaml', 'list.yaml', 'absent.yaml', '.']) {
    const issues = issuesOf({ SIDEVAULT_CONFIG: name }, dir)
    t.match(issues, [{ name: 'SIDEVAULT_CONFIG' }], name)
    t.notMatch(JSON.stringify(issues), /secret-word/)
  }
})

t.test(
  'a printed configuration lacks its omitted secrets when loaded: its placeholder is no key',
  async (t) => {
    const SIDEVAULT_BOOTSTRAP_KEY = 'key_0123456789abcdef0123456789'
    const config = loadConfig({
      SIDEVAULT_BOOTSTRAP_KEY,
      SIDEVAULT_PLUGIN_CONFIG: '{"mail":{"password":"p"}}',
    })
    const dir = t.testdir({ 'printed.yaml': printConfig(config) })
    const issues = issuesOf({ SIDEVAULT_CONFIG: 'printed.yaml' }, dir)
    t.same(
      issues.map(({ name }) => name),
      ['SIDEVAULT_BOOTSTRAP_KEY', 'SIDEVAULT_PLUGIN_CONFIG'],
    )
    t.match(issues[0]?.message, /config print/)
  },
)

t.test('a file that does not parse is reported with line and column, and not quoted', async (t) => {
  const dir = t.testdir({ 'bad.yaml': 'workers: 2\nbootstrap_key: "key_marker\n' })
  const [issue] = issuesOf({ SIDEVAULT_CONFIG: 'bad.yaml' }, dir)
  t.match(issue?.message, /not valid YAML or JSON at line \d+, column \d+/)
  t.notMatch(JSON.stringify(issue), /key_marker/)
})

t.test('a tag and a mapping as a key are not printed as warnings', async (t) => {
  const dir = t.testdir({
    'tag.yaml': 'workers: 2\nbootstrap_key: !secret key_marker\n',
    'key.yaml': '{key_marker: 1}: 2',
  })
  const emitted = t.capture(process, 'emitWarning')
  const [issue] = issuesOf({ SIDEVAULT_CONFIG: 'tag.yaml' }, dir)
  t.match(issue?.message, 'not valid YAML or JSON at line 2, column 16 (TAG_RESOLVE_FAILED)')
  t.notMatch(JSON.stringify(issue), /key_marker/)
  const [member] = issuesOf({ SIDEVAULT_CONFIG: 'key.yaml' }, dir)
  t.match(member?.message, 'a member in the configuration file is not a setting')
  t.same(emitted(), [])
})

t.test('an empty variable counts as unset', async (t) => {
  t.match(loadConfig({ SIDEVAULT_LISTEN: '', SIDEVAULT_TLS_CERT: '', SIDEVAULT_WORKERS: '' }), {
    listen: { port: 8080 },
    tls: undefined,
    workers: 1,
  })
})

t.test('plugins are resolved first from the place of their list', async (t) => {
  const dir = t.testdir({ etc: { 'c.yaml': 'plugins: [acme]\n', 'd.yaml': 'workers: 2\n' } })
  const bases = (env: Record<string, string>, file?: string) =>
    loadConfig(env, { cwd: dir, file }).pluginBases.map((base) => base.slice(dir.length))
  t.same(bases({ SIDEVAULT_PLUGINS: 'acme' }), [''], 'without a file: where the command was given')
  t.same(bases({ SIDEVAULT_CONFIG: 'etc/c.yaml' }), ['/etc', ''])
  t.same(bases({}, 'etc/c.yaml'), ['/etc', ''])
  t.same(bases({ SIDEVAULT_CONFIG: 'etc/c.yaml', SIDEVAULT_PLUGINS: 'acme' }), ['', '/etc'])
})

t.test('a printed configuration is a configuration file of the same settings', async (t) => {
  const dir = t.testdir({ 'a.pem': 'a', 'b.pem': 'b' })
  const environments = [
    {},
    {
      SIDEVAULT_LISTEN: '[::1]:8443',
      SIDEVAULT_EGRESS_PORTS: '443,8443',
      SIDEVAULT_EGRESS_DNS: '10.0.0.2,[fd00::2]:5353',
      SIDEVAULT_EGRESS_ALLOW: '10.1.0.0/16',
      SIDEVAULT_TLS_CERT: 'a.pem',
      SIDEVAULT_TLS_KEY: 'b.pem',
      SIDEVAULT_CVC_SECONDS: '7',
      SIDEVAULT_RATE_LIMIT_PER_KEY: '70',
      SIDEVAULT_RATE_LIMIT_PER_ADDRESS: 'none',
      SIDEVAULT_RATE_LIMIT_PER_ORIGIN: '50',
      SIDEVAULT_ENVOY_MEMORY_MIB: '512',
      SIDEVAULT_HEADER_PREFIXES: 'SVC,BT',
    },
    { SIDEVAULT_LISTEN: '0.0.0.0:80', SIDEVAULT_INSECURE_LISTEN: 'true', SIDEVAULT_EGRESS_PORTS: '*' },
  ]
  for (const env of environments) {
    const { file, ...config } = loadConfig(env, { cwd: dir })
    const printed = printConfig({ ...config, file })
    writeFileSync(join(dir, 'printed.yaml'), printed)
    const { file: _, ...again } = loadConfig({}, { cwd: dir, file: 'printed.yaml' })
    t.strictSame(again, config, printed)
  }
})

t.test('no printed form of the configuration shows a secret', async (t) => {
  const dir = t.testdir()
  mkdirSync(join(dir, 'x'))
  writeFileSync(join(dir, 'c.yaml'), 'bootstrap_key: key_marker-aaaaaaaaaaaaaaaaaaaa\n')
  const config = loadConfig(
    {
      SIDEVAULT_CONFIG: 'c.yaml',
      SIDEVAULT_ROOT_KEY: 'passphrase:marker-bbbbbbbb',
      SIDEVAULT_REDIS_URL: 'redis://:marker-dddddddd@cache',
      SIDEVAULT_PLUGIN_CONFIG: '{"kms":{"token":"marker-cccc"}}',
    },
    { cwd: dir },
  )
  const { pluginConfig: _, ...rest } = config
  for (const printed of [printConfig(config), JSON.stringify(rest), inspect(rest, { depth: 9 })])
    t.notMatch(printed, /marker/)
  t.match(printConfig(config), /kms/)
})

t.test('rate limits have defaults, and "none" or 0 disables them', async (t) => {
  const limits = (key: string | undefined) =>
    loadConfig({ ...(key === undefined ? {} : { SIDEVAULT_RATE_LIMIT_PER_KEY: key }) }).rateLimits
  t.same(limits(undefined), {
    perKey: 300_000,
    perAddress: 600_000,
    perOrigin: 6_000,
    guesses: 60,
    areDefault: true,
  })
  for (const off of ['none', '0'])
    t.same(limits(off), {
      perKey: undefined,
      perAddress: 600_000,
      perOrigin: 6_000,
      guesses: 60,
      areDefault: false,
    })
  t.equal(limits('70').perKey, 70)
  t.throws(() => limits('-1'), /SIDEVAULT_RATE_LIMIT_PER_KEY/)
})
