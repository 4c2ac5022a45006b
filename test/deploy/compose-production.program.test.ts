import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createServer } from 'node:tls'
import t from 'tap'
import { settingNames, variableOf } from '../../src/config/schema.ts'
import { fileVariableOf, secretNames } from '../../src/config/variables.ts'
import { loadConfig } from '../../src/config.ts'
import { directoryFor } from '../kit/directory.ts'
import { postgresMissing, queryPostgres, startPostgres } from '../kit/postgres.ts'
import { findPostgres } from '../kit/postgres-binaries.ts'
import { noRedis, startRedis } from '../kit/redis.ts'
import { freePort } from '../kit/sidevault.ts'
import { root } from '../kit/sources.ts'
import { until } from '../kit/until.ts'
import { type Manifest, manifestsOf, roleOf } from './kit.ts'

const FOLDER = 'examples/compose-production'
const [compose] = manifestsOf(`${FOLDER}/compose.yaml`) as [Manifest]
const services: Readonly<Record<string, Manifest>> = compose.services
const ours = Object.entries(services).filter(([, { build }]) => build !== undefined)
const isRoot = process.getuid?.() === 0

/** A copy of the folder, with its secrets. */
const folder = join(directoryFor(t), 'compose')
cpSync(join(root, FOLDER), folder, { recursive: true })
const prepare = (...names: string[]) => spawnSync('./prepare.sh', names, { cwd: folder, encoding: 'utf8' })
const prepared = prepare('vault.test')
const secret = (name: string) => join(folder, 'secrets', name)
const inSecrets = (value: string) => value.replaceAll('/run/secrets/', join(folder, 'secrets/'))

t.test('prepare.sh makes each secret once, readable by the user of its container only', async (t) => {
  t.equal(prepared.status, 0, prepared.stderr)
  for (const [name, { file }] of Object.entries<Manifest>(compose.secrets)) {
    t.equal(join(folder, file), secret(name))
    const { mode, uid } = statSync(secret(name))
    t.equal(mode & 0o777, name.endsWith('.crt') ? 0o444 : 0o400, name)
    if (!isRoot || name.endsWith('.crt')) continue
    const users = Object.entries(services)
      .filter(([, service]) => service.secrets?.includes(name))
      .map(([, { build }]) => (build === undefined ? 999 : 1000))
    t.ok(users.length > 0 && users.every((user) => user === uid), `${name} belongs to ${uid}`)
  }
  t.equal(Buffer.from(readFileSync(secret('root.key'), 'utf8'), 'base64').length, 32)
  const before = readFileSync(secret('root.key'), 'utf8')
  t.match(prepare('vault.test'), { status: 1, stderr: /Nothing was changed/ })
  t.match(prepare(), { status: 2 })
  t.equal(readFileSync(secret('root.key'), 'utf8'), before)
})

t.test('services name files, networks, volumes and services that exist', async (t) => {
  t.strictSame(ours.map(([, { command }]) => roleOf(t, command)).sort(), ['admin', 'gateway', 'gateway'])
  for (const [name, service] of Object.entries(services)) {
    for (const used of service.secrets ?? []) t.ok(used in compose.secrets, `${name}: secret ${used}`)
    for (const { source } of service.configs ?? [])
      t.ok(source in compose.configs, `${name}: config ${source}`)
    for (const network of service.networks) t.ok(network in compose.networks, `${name}: network ${network}`)
    for (const other of Object.keys(service.depends_on ?? {}))
      t.ok(services[other], `${name} waits for ${other}`)
    for (const volume of service.volumes ?? []) {
      const [source] = volume.split(':')
      t.ok(source.startsWith('./') ? existsSync(join(folder, source)) : source in compose.volumes, volume)
    }
    const named = JSON.stringify([service.command, service.environment, service.healthcheck])
    for (const [, used] of named.matchAll(/\/run\/secrets\/([\w.]+)/g))
      t.ok(service.secrets?.includes(used), `${name} has ${used}`)
  }
  for (const { file } of Object.values<Manifest>(compose.configs))
    if (file) t.ok(existsSync(join(root, FOLDER, file)), file)
  t.equal(compose.networks.store.internal, true)
  for (const name of ['postgres', 'redis']) {
    t.strictSame(services[name].networks, ['store'])
    t.notOk(services[name].ports, `${name} is not published`)
  }
  for (const [name, service] of ours) {
    t.match(service, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }, name)
    t.notOk(service.environment.SIDEVAULT_INSECURE_LISTEN, 'TLS at the edge')
  }
  const [prometheus] = manifestsOf(`${FOLDER}/prometheus.yaml`) as [Manifest]
  const [scrape] = prometheus.scrape_configs
  const port = services.admin.environment.SIDEVAULT_OPS_LISTEN.split(':')[1]
  t.strictSame(scrape.static_configs[0].targets.sort(), ours.map(([name]) => `${name}:${port}`).sort())
  t.ok(services.prometheus.secrets.includes(scrape.tls_config.ca_file.replace('/run/secrets/', '')))
  const rules = services.prometheus.configs.map(({ target }: Manifest) => target)
  for (const file of prometheus.rule_files) t.ok(rules.includes(`/etc/prometheus/${file}`))
})

/** A call whose certificate is verified by the authority of prepare.sh. */
const call = async (port: number, method: string, path: string, headers: object = {}, body?: object) => {
  const sent = request({
    ...{ host: 'localhost', port, method, path, agent: false, ca: readFileSync(secret('ca.crt')) },
    headers: { ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
  })
  sent.end(body && JSON.stringify(body))
  const [response] = await once(sent, 'response')
  const content = await text(response)
  return { status: response.statusCode, text: content, json: () => JSON.parse(content) }
}

t.test(
  'the services run with these settings',
  { skip: postgresMissing({ own: true }) || (await noRedis()) },
  async (t) => {
    // PostgreSQL with the options of the service. Only the superuser on this machine is trusted, for the test.
    const directory = directoryFor(t)
    const binaries = findPostgres()
    const { uid, gid } = typeof binaries === 'string' ? {} : binaries.runner
    const forPostgres = (name: string, content: string) => {
      const path = join(directory, name)
      writeFileSync(path, content, { mode: 0o600 })
      if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
      return path
    }
    if (uid !== undefined && gid !== undefined) chownSync(directory, uid, gid)
    const options = Object.fromEntries(
      services.postgres.command.slice(1).map((option: string) => option.replace(/^--/, '').split('=')),
    )
    const hba = services.postgres.configs.find(({ target }: Manifest) => target === options.hba_file).source
    const databasePort = await freePort()
    const postgres = await startPostgres({
      own: true,
      settings: {
        ...options,
        ssl_cert_file: forPostgres('crt', readFileSync(inSecrets(options.ssl_cert_file), 'utf8')),
        ssl_key_file: forPostgres('key', readFileSync(inSecrets(options.ssl_key_file), 'utf8')),
        hba_file: forPostgres('hba', compose.configs[hba].content.replace('peer', 'trust')),
        listen_addresses: '127.0.0.1',
        port: String(databasePort),
      },
    })
    t.teardown(() => postgres.close())
    const [, sql = ''] = /<<'SQL'\n([\s\S]*?)\n\s*SQL\n/.exec(compose.configs.database.content) ?? []
    const password = readFileSync(secret('database_password'), 'utf8').trim()
    for (const statement of sql.split(/;\s*/).filter(Boolean))
      await queryPostgres(postgres.admin, statement.replace(":'password'", `'${password}'`))

    // Redis of tests has no TLS: in front of it stands a server with the certificate of the service.
    const [, redisPassword = ''] =
      /^requirepass (\w+)$/m.exec(readFileSync(secret('redis.conf'), 'utf8')) ?? []
    const redis = await startRedis(t, { password: redisPassword })
    const pair = { cert: readFileSync(secret('redis.crt')), key: readFileSync(secret('redis.key')) }
    const relay = createServer(pair, (socket) => {
      const behind = connect(redis.port, '127.0.0.1')
      for (const end of [socket, behind]) end.on('error', () => {})
      socket.pipe(behind).pipe(socket)
    }).listen(0, '127.0.0.1')
    await once(relay, 'listening')
    t.teardown(() => relay.close())

    // Addresses of services are ports of this machine here.
    const moved = new Map([
      ['store', (address: string) => address.replace('@postgres:5432/', `@localhost:${databasePort}/`)],
      [
        'redis',
        (address: string) =>
          address.replace('@redis:6379', `@localhost:${(relay.address() as { port: number }).port}`),
      ],
    ])
    for (const [name, move] of moved) {
      const address = readFileSync(secret(name), 'utf8')
      t.not(move(address), address, `${name} names the service`)
      writeFileSync(join(directory, name), inSecrets(move(address)))
    }
    const environmentOf = async ({ environment }: Manifest) => {
      const known = new Set<string>([...settingNames.map(variableOf), ...secretNames.map(fileVariableOf)])
      for (const name of Object.keys(environment))
        t.ok(known.has(name) || name === 'NODE_EXTRA_CA_CERTS', `${name} is a setting`)
      const values = Object.entries<string>(environment).map(([name, value]) => [
        name,
        inSecrets(String(value)),
      ])
      const ports = { edge: await freePort(), ops: await freePort() }
      const env: Record<string, string> = {
        ...Object.fromEntries(values),
        SIDEVAULT_STORE_FILE: join(directory, 'store'),
        SIDEVAULT_REDIS_URL_FILE: join(directory, 'redis'),
        SIDEVAULT_LISTEN: `127.0.0.1:${ports.edge}`,
        SIDEVAULT_OPS_LISTEN: `127.0.0.1:${ports.ops}`,
        SIDEVAULT_DATA_DIR: join(directoryFor(t), 'data'),
      }
      return { env, ports }
    }

    const start = async (name: string) => {
      const { command, stop_grace_period } = services[name]
      const { env, ports } = await environmentOf(services[name])
      t.ok(loadConfig(env).drainMs < 1_000 * Number.parseInt(stop_grace_period, 10), 'there is time to drain')
      const { PATH = '', HOME = '', ENVOY_BIN = '' } = process.env
      const all: Record<string, string> = { PATH, HOME, ENVOY_BIN, ...env }
      const node = (args: readonly string[]): ChildProcess =>
        spawn(process.execPath, args, { cwd: root, env: all, stdio: ['ignore', 'pipe', 'pipe'] })
      const child = node(['bin/sidevault.js', ...command])
      let output = ''
      for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
      const ended = once(child, 'exit')
      t.teardown(async () => {
        child.kill('SIGTERM')
        await ended
      })
      for (let code: number | null = 1; code !== 0; ) {
        if (child.exitCode !== null) throw new Error(`${name} has stopped: ${output}`)
        const check = node(['bin/healthcheck.js', '/readyz'])
        ;[code] = await once(check, 'exit')
      }
      return { env: all, ports }
    }
    const admin = await start('admin')
    const gateways = [await start('gateway-1'), await start('gateway-2')]

    const key = readFileSync(join(admin.env.SIDEVAULT_DATA_DIR ?? '', 'management.key'), 'utf8').trim()
    const permissions = ['token:create', 'token:use']
    const body = { name: 'shop', type: 'private', permissions }
    const app = await call(admin.ports.edge, 'POST', '/applications', { 'svc-api-key': key }, body)
    t.equal(app.status, 201, app.text)
    const shop = { 'svc-api-key': app.json().key }
    const token = await call(admin.ports.edge, 'POST', '/tokens', shop, { data: 'value' })
    t.equal(token.status, 201, token.text)
    for (const { ports } of gateways) {
      const url = { 'svc-proxy-url': 'https://127.0.0.1/' }
      const proxied = (headers: object) =>
        call(ports.edge, 'POST', '/proxy', { ...url, ...headers }, { a: '1' })
      t.equal((await proxied(shop)).status, 403, 'the caller is known, the destination is private')
      t.equal((await proxied({ 'svc-api-key': 'key_of_nobody_at_all_here' })).status, 401)
      // A response of Redis that was slow counts as none, for a moment.
      await until('Prometheus reads that Redis is used', async () => {
        const { text: metrics } = await call(ports.ops, 'GET', '/metrics')
        return /^sidevault_redis_up 1$/m.test(metrics)
      })
      t.equal((await call(ports.edge, 'GET', '/metrics')).status, 404)
    }

    await t.test('backup.sh makes a backup, and removes old ones', async (t) => {
      const bin = join(directoryFor(t), 'bin')
      mkdirSync(bin)
      const docker = `#!/bin/sh
[ "$1 $2 $3 $4" = "compose exec -T admin" ] || exit 9
shift 5
for word in "$@"; do shift; case $word in /backups/*) word="$BACKUPS\${word#/backups}";; esac; set -- "$@" "$word"; done
cd "$PROJECT" && exec "$NODE" "$@"
`
      writeFileSync(join(bin, 'docker'), docker, { mode: 0o755 })
      const backups = join(folder, 'backups')
      const old = join(backups, 'sidevault-20250101T000000Z.backup')
      const age = () => {
        writeFileSync(old, '')
        utimesSync(old, 1_700_000_000, 1_700_000_000)
      }
      age()
      writeFileSync(join(backups, 'notes'), '')
      utimesSync(join(backups, 'notes'), 1_700_000_000, 1_700_000_000)
      const env = {
        ...admin.env,
        PATH: `${bin}:${admin.env.PATH}`,
        BACKUPS: backups,
        PROJECT: root,
        NODE: process.execPath,
      }
      const run = (more = {}) =>
        spawnSync('./backup.sh', { cwd: folder, env: { ...env, ...more }, encoding: 'utf8' })
      const done = run()
      t.equal(done.status, 0, done.stdout + done.stderr)
      const [made = '', ...others] = readdirSync(backups).sort().reverse()
      t.match(made, /^sidevault-20\d{6}T\d{6}Z\.backup$/)
      t.same(others, ['notes'])

      age()
      t.equal(run({ SIDEVAULT_ROOT_KEY: 'env:ABSENT' }).status, 2, 'it fails')
      t.ok(existsSync(old), 'and removes nothing')

      const restored = directoryFor(t)
      copyFileSync(secret('root.key'), join(restored, 'root.key'))
      chmodSync(join(restored, 'root.key'), 0o600)
      execFileSync(process.execPath, ['bin/sidevault.js', 'restore', join(backups, made)], {
        cwd: root,
        env: { PATH: env.PATH, SIDEVAULT_DATA_DIR: restored },
      })
      t.ok(existsSync(join(restored, 'sidevault.db')))
    })
  },
)
