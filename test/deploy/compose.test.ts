import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { configOf, instructionsOf, type Manifest, manifestsOf, roleOf, textOf } from './kit.ts'

const [compose] = manifestsOf('docker-compose.yml') as [Manifest]
const services: Readonly<Record<string, Manifest>> = compose.services
const ours = Object.entries(services).filter(([, { build }]) => build !== undefined)
const running = ours.filter(([name]) => name !== 'root-key')
const image = instructionsOf(textOf('Dockerfile'))

/** Variables with their defaults put in, as Compose does. */
const interpolated = (text: string) => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1')

const environmentOf = ({ environment }: Manifest): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, interpolated(String(value))]))

t.test('two replicas of Envoy and gateway, one management process, PostgreSQL and Redis', async (t) => {
  const roles = running.map(([, { command }]) => roleOf(t, command))
  t.strictSame(roles.sort(), ['admin', 'gateway', 'gateway'])
  t.match(services.postgres.image, /^postgres:\d+/)
  t.match(services.redis.image, /^redis:\d+/)
  const { version } = JSON.parse(textOf('package.json'))
  for (const [name, { image }] of ours) t.equal(image, `sidevault:${version}`, name)
})

t.test('settings of the services are a valid configuration that names the other services', async (t) => {
  for (const [, service] of running) {
    const config = configOf(t, environmentOf(service))
    const store = new URL(config.postgres?.reveal() ?? '')
    const redis = new URL(config.redisUrl?.reveal() ?? '')
    t.ok(services[store.hostname] && services[redis.hostname], 'hosts are services')
    const [script] = services.postgres.configs
    const sql = interpolated(compose.configs[script.source].content)
    t.match(sql, `create role ${store.username} login password '${store.password}';`)
    t.match(sql, `create database ${store.pathname.slice(1)} owner ${store.username};`)
    t.match(script.target, /^\/docker-entrypoint-initdb\.d\/\w+\.sql$/)
    t.ok(config.drainMs < 1_000 * Number.parseInt(service.stop_grace_period, 10), 'there is time to drain')
  }
})

t.test('ports, volumes and dependencies fit the image and each other', async (t) => {
  const published: string[] = []
  for (const [name, { ports, volumes, environment, depends_on }] of running) {
    const [, host, inside] = /^127\.0\.0\.1:(\d+):(\d+)$/.exec(ports[0]) ?? []
    t.ok(
      image.some(({ name, rest }) => name === 'EXPOSE' && rest === inside),
      `${name}: ${inside} is exposed`,
    )
    t.equal(environment.SIDEVAULT_LISTEN, `0.0.0.0:${inside}`)
    published.push(host ?? '')
    const [keys, data] = volumes.map((volume: string) => volume.split(':'))
    t.strictSame(data[1], image.find(({ name }) => name === 'VOLUME')?.rest)
    t.strictSame([keys[0], keys[2]], ['keys', 'ro'])
    t.equal(environment.SIDEVAULT_ROOT_KEY, `file:${keys[1]}/root.key`)
    for (const [volume] of [keys, data]) t.ok(volume in compose.volumes, `${volume} is declared`)
    for (const [other, { condition }] of Object.entries<Manifest>(depends_on)) {
      t.ok(services[other], `${name} waits for ${other}`)
      const isChecked = services[other].healthcheck !== undefined || services[other].build !== undefined
      if (condition === 'service_healthy') t.ok(isChecked, `${other} has a health check`)
    }
  }
  t.equal(new Set(published).size, running.length, 'no port is published twice')
  const data = running.map(([, { volumes }]) => volumes[1])
  t.equal(new Set(data).size, running.length, 'no data directory is shared')
})

t.test('containers run with minimal privileges', async (t) => {
  for (const [name, service] of ours) {
    t.equal(service.read_only, true, name)
    t.strictSame(service.cap_drop, ['ALL'])
    t.strictSame(service.security_opt, ['no-new-privileges:true'])
    t.notOk(service.privileged ?? service.user ?? service.cap_add)
  }
})

t.test('the root key is created once, for its owner only, and never again', async (t) => {
  const { entrypoint, command, network_mode } = services['root-key']
  t.equal(network_mode, 'none')
  const path = join(t.testdir({}), 'root.key')
  const [file, ...args] = entrypoint
  t.equal(file, 'node')
  const script = command[0].replace("'/etc/sidevault/root.key'", JSON.stringify(path))
  t.match(command[0], '/etc/sidevault/root.key')
  const make = () => {
    execFileSync(process.execPath, [...args, script])
    return readFileSync(path, 'utf8')
  }
  const key = make()
  t.equal(Buffer.from(key, 'base64').length, 32)
  t.equal(statSync(path).mode & 0o777, 0o400)
  t.equal(make(), key)
})
