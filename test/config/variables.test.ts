import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { printConfig } from '../../src/config/print.ts'
import { secretNames } from '../../src/config/variables.ts'
import { ConfigError, loadConfig } from '../../src/config.ts'
import { root } from '../kit/sources.ts'

const issuesOf = (env: Record<string, string>, args: Parameters<typeof loadConfig>[1] = {}) => {
  try {
    loadConfig(env, args)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.issues
    throw error
  }
}

const UNKNOWN: readonly [name: string, fix: RegExp][] = [
  ['SIDEVAULT_LISTENS', /SIDEVAULT_LISTEN\?/],
  ['SIDEVAULT_SANDBOX_REQUIRED', /SIDEVAULT_SANDBOX_REQUIRE\?/],
  ['SIDEVAULT_TLS_KEYY', /SIDEVAULT_TLS_KEY\?/],
  ['SIDEVAULT_DATADIR', /SIDEVAULT_DATA_DIR\?/],
  ['SIDEVAULT_ROOT_KEY_FIEL', /SIDEVAULT_ROOT_KEY_FILE\?/],
  ['SIDEVAULT_TLS_CERT_FILE', /start --help/],
  ['SIDEVAULT_PORT', /start --help/],
]

for (const [name, fix] of UNKNOWN)
  t.test(`${name} is an issue with the nearest name`, async (t) => {
    t.match(issuesOf({ [name]: '9000' }), [{ name, message: /not a setting/, fix }])
    t.same(issuesOf({ [name]: '' }), [], 'an empty variable counts as unset')
  })

t.test('unknown variables and members are listed with all other issues', async (t) => {
  const cwd = t.testdir({ 'settings.yaml': 'lissten: x\nsandbox_requires: [uid]\n' })
  const env = { SIDEVAULT_LISTENS: '1', SIDEVAULT_WORKERS: '0', SIDEVAULT_CONFIG: 'settings.yaml' }
  const issues = issuesOf(env, { cwd })
  t.same(issues.map(({ name }) => name).sort(), [
    ...['SIDEVAULT_CONFIG', 'SIDEVAULT_CONFIG', 'SIDEVAULT_LISTENS', 'SIDEVAULT_WORKERS'],
  ])
  const { message } = new ConfigError(issues)
  for (const part of ['"lissten"', 'Did you mean sandbox_require?']) t.match(message, part)
})

t.test('variables that Kubernetes sets for a service are not settings', async (t) => {
  const injected = (service: string) => ({
    [`${service}_SERVICE_HOST`]: '10.0.0.1',
    [`${service}_SERVICE_PORT`]: '443',
    [`${service}_SERVICE_PORT_HTTPS`]: '443',
    [`${service}_PORT`]: 'tcp://10.0.0.1:443',
    [`${service}_PORT_443_TCP`]: 'tcp://10.0.0.1:443',
    [`${service}_PORT_443_TCP_PROTO`]: 'tcp',
    [`${service}_PORT_443_TCP_PORT`]: '443',
    [`${service}_PORT_443_TCP_ADDR`]: '10.0.0.1',
  })
  t.same(issuesOf({ ...injected('SIDEVAULT'), ...injected('SIDEVAULT_ADMIN') }), [])
})

t.test('variables of guides, examples and the image are settings or those of clients', async (t) => {
  const folders = ['docs', 'examples', 'envoy', 'src/console']
  const files = [
    'README.md',
    'docker-compose.yml',
    'Dockerfile',
    ...folders.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => !name.includes('node_modules'))
        .map((name) => `${folder}/${name}`),
    ),
  ]
  const names = files
    .filter((file) => /\.(md|ya?ml|[jt]s|py|sh)$|Dockerfile$/.test(file))
    .flatMap((file) => readFileSync(join(root, file), 'utf8').match(/\bSIDEVAULT_[A-Z_]*[A-Z]\b(?!_)/g) ?? [])
  t.ok(names.length > 50)
  const issues = issuesOf(Object.fromEntries(names.map((name) => [name, 'x'])))
  t.same(
    issues.filter(({ message }) => message.includes('not a setting')),
    [],
  )
})

t.test('variables that a setting or the command line names as a source may have any name', async (t) => {
  const SIDEVAULT_MINE = 'x'
  for (const SIDEVAULT_ROOT_KEY of ['env:SIDEVAULT_MINE', 'passphrase:env:SIDEVAULT_MINE'])
    t.same(issuesOf({ SIDEVAULT_MINE, SIDEVAULT_ROOT_KEY }), [])
  for (const named of ['env:SIDEVAULT_MINE', 'SIDEVAULT_MINE'])
    t.same(issuesOf({ SIDEVAULT_MINE }, { named }), [])
})

t.test('a process of the service does not judge the environment again', async (t) => {
  t.same(issuesOf({ SIDEVAULT_LISTENS: '1', SIDEVAULT_ROOT_KEY_FILE: 'gone' }, { content: {} }), [])
})

const SECRETS = {
  bootstrap_key: 'key_marker-aaaaaaaaaaaaaaaaaaaa',
  store: 'postgres://user:marker@127.0.0.1/db',
  redis_url: 'redis://:marker@cache',
  root_key: 'passphrase:marker',
  delegated_key: 'env:marker',
  plugin_config: '{"kms":{"token":"marker"}}',
}

/** Variables that name a file in the working directory for each secret. */
const FILES = Object.fromEntries(
  Object.keys(SECRETS).map((name) => [`SIDEVAULT_${name.toUpperCase()}_FILE`, name]),
)

t.test('every secret setting can be in a file, with one line break at its end', async (t) => {
  t.same([...secretNames].sort(), Object.keys(SECRETS).sort())
  for (const end of ['', '\n', '\r\n']) {
    const cwd = t.testdir(
      Object.fromEntries(Object.entries(SECRETS).map(([name, value]) => [name, value + end])),
    )
    const config = loadConfig(FILES, { cwd })
    t.equal(config.bootstrapKey?.reveal(), SECRETS.bootstrap_key)
    t.equal(config.postgres?.reveal(), SECRETS.store)
    t.equal(config.redisUrl?.reveal(), SECRETS.redis_url)
    t.equal(config.rootKeySource?.reveal(), SECRETS.root_key)
    t.equal(config.delegatedKeySource?.reveal(), SECRETS.delegated_key)
    t.same(config.pluginConfig, { kms: { token: 'marker' } })
    const { pluginConfig: _, ...rest } = config
    for (const printed of [printConfig(config), JSON.stringify(rest), inspect(rest, { depth: 9 })])
      t.notMatch(printed, /marker/)

    const again = loadConfig(
      { ...FILES, SIDEVAULT_ROOT_KEY_FILE: 'gone' },
      { cwd, content: config.file.reveal() },
    )
    t.equal(
      again.rootKeySource?.reveal(),
      SECRETS.root_key,
      'a process of the service gets the accepted value',
    )
  }
})

t.test('a second line break is a part of the value', async (t) => {
  const cwd = t.testdir({ key: 'passphrase:marker\n\n' })
  t.equal(
    loadConfig({ SIDEVAULT_ROOT_KEY_FILE: 'key' }, { cwd }).rootKeySource?.reveal(),
    'passphrase:marker\n',
  )
})

t.test('a file of a secret takes precedence over the configuration file', async (t) => {
  const cwd = t.testdir({ key: 'passphrase:one', 'c.yaml': 'root_key: passphrase:two\n' })
  const env = { SIDEVAULT_ROOT_KEY_FILE: 'key', SIDEVAULT_CONFIG: 'c.yaml' }
  t.equal(loadConfig(env, { cwd }).rootKeySource?.reveal(), 'passphrase:one')
})

t.test('an unusable file of a secret is an issue that does not contain the value', async (t) => {
  const cwd = t.testdir({ key: 'marker', empty: '\n', directory: {} })
  const cases: readonly [Record<string, string>, RegExp][] = [
    [
      { SIDEVAULT_ROOT_KEY: 'passphrase:marker', SIDEVAULT_ROOT_KEY_FILE: 'key' },
      /SIDEVAULT_ROOT_KEY is set, too/,
    ],
    [{ SIDEVAULT_ROOT_KEY_FILE: 'key' }, /value is not valid/],
    [{ SIDEVAULT_ROOT_KEY_FILE: 'gone' }, /gone" cannot be read \(ENOENT\)/],
    [{ SIDEVAULT_ROOT_KEY_FILE: 'empty' }, /empty" is empty/],
    [{ SIDEVAULT_ROOT_KEY_FILE: 'directory' }, /directory" is not a file/],
  ]
  for (const [env, message] of cases) {
    const issues = issuesOf(env, { cwd })
    t.match(issues, [{ name: 'SIDEVAULT_ROOT_KEY_FILE', message }])
    t.equal(issues.length, 1)
    t.notMatch(JSON.stringify(issues), /marker/)
  }
})
