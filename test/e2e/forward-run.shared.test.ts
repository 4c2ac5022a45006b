/** Programs that `sidevault run` starts, unmodified; forward-clients.test.ts runs others by their variables. */
import { globSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listenFor } from '../kit/listen.ts'
import { LONG } from '../kit/long.ts'
import { startOutside } from '../kit/outside.ts'
import { root } from '../kit/sources.ts'
import { npmWith, run, toolEnvironment } from '../kit/tools.ts'
import { connect, secure } from '../kit/tunnel.ts'
import { until } from '../supervisor/processes.ts'

const SECRET = '4000056655665556'
const HERE = join(root, 'test/e2e/forward-clients')
const HOSTS = ['echo.run.test', 'index.test'] as const
const directory = t.testdir()
const { sidevault, forward: proxy, nameLocally } = await startOutside()
const certificate = await nameLocally(...HOSTS)

interface Arrived {
  readonly path: string
  readonly body: string
  readonly authorization: string | undefined
}
const arrived: Arrived[] = []

/** A sparse registry of cargo's with one package, for those that have its token. */
const ofRegistry = (path: string): string | undefined => {
  if (path === '/config.json')
    return JSON.stringify({ dl: `https://index.test:${port}/dl`, 'auth-required': true })
  if (path !== '/to/ke/tokencrate') return undefined
  const facts = { name: 'tokencrate', vers: '1.0.0', deps: [], features: {}, yanked: false }
  return JSON.stringify({ ...facts, cksum: '0'.repeat(64) })
}
const server = createServer(certificate, async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const { url: path = '', headers } = request
  arrived.push({ path, body: Buffer.concat(chunks).toString(), authorization: headers.authorization })
  if (headers.host?.startsWith('echo.run.test')) response.end('{"ok":true}')
  else if (headers.authorization !== SECRET) response.writeHead(401).end()
  else response.end(ofRegistry(path))
})
const port = await listenFor(t, server)
const create = async (path: string, body: object, key = sidevault.managementKey) => {
  const { status, json, text } = await sidevault.call('POST', path, { key, body })
  if (status !== 201) throw new Error(text)
  return json
}
const application = await create('/applications', {
  name: 'run',
  type: 'private',
  permissions: ['token:create', 'token:use'],
})
const { id: token } = await create('/tokens', { type: 'token', data: SECRET }, application.key)
for (const host of HOSTS)
  await create('/proxies', {
    name: host,
    destination_url: `https://${host}:${port}`,
    intercept: true,
    evaluate: ['body', 'header:authorization'],
  })
const ca = (await sidevault.call('GET', '/ca.pem')).text
const isOpen = async (host: string): Promise<boolean> => {
  const { socket } = await connect({ proxy, to: `${host}:${port}`, key: application.key })
  const opened = await secure(socket, host, { ca }).catch(() => undefined)
  socket.destroy()
  return opened !== undefined
}
for (const host of HOSTS) await until(`${host} is bound`, () => isOpen(host))

/** The result of a command with what `sidevault run` sets, and the requests that arrived during it. */
const started = async (command: readonly string[], more: Readonly<Record<string, string>> = {}) => {
  const before = arrived.length
  const args = [join(root, 'bin/sidevault.js'), 'run', '--application', application.id, '--', ...command]
  const env = { ...toolEnvironment(root), SIDEVAULT_DATA_DIR: sidevault.dataDir, TMPDIR: directory, ...more }
  const { code, output } = await run(process.execPath, args, { env, cwd: directory, timeout: 300_000 })
  return { code, output, requests: arrived.slice(before) }
}
const skipped = (t: Test, why: string) => t.pass(`NOT RUN: ${why}`, { skip: why })
const isMissing = async (file: string, ...args: string[]) => (await run(file, args)).code !== 0
const echo = `https://echo.run.test:${port}`

for (const client of ['HttpClient', 'HttpURLConnection'])
  t.test(`Java's ${client}`, async (t) => {
    const { output: modules } = await run('java', ['--list-modules'])
    if (!modules.includes('jdk.compiler@')) return skipped(t, 'no JDK is there')
    const file = join(HERE, 'Client.java')
    const { code, output, requests } = await started(['java', file, client, `${echo}/java`, token])
    t.equal(code, 0, output)
    t.match(output, client === 'HttpClient' ? /^200 HTTP_2$/m : /^200$/m)
    t.match(requests, [{ path: '/java', body: `{"pan":"${SECRET}"}` }])
  })

t.test('cargo, whose registry token is a token of the vault', async (t) => {
  if (await isMissing('cargo', '--version')) return skipped(t, 'cargo is not there')
  mkdirSync(join(directory, 'src'))
  writeFileSync(join(directory, 'src/lib.rs'), '')
  writeFileSync(
    join(directory, 'Cargo.toml'),
    '[package]\nname = "c"\nversion = "0.1.0"\n[dependencies]\ntokencrate = { version = "1", registry = "local" }\n',
  )
  const index = `registries.local.index = "sparse+https://index.test:${port}/"`
  const provider = 'registry.global-credential-providers = ["cargo:token"]'
  const command = ['cargo', 'generate-lockfile', '--config', index, '--config', provider]
  const { code, output, requests } = await started(command, {
    CARGO_HOME: join(directory, 'cargo'),
    CARGO_REGISTRIES_LOCAL_TOKEN: `{{ ${token} }}`,
  })
  t.equal(code, 0, output)
  t.match(requests.at(-1), { path: '/to/ke/tokencrate', authorization: SECRET })
})

t.test('pip', async (t) => {
  if (await isMissing('python3', '-m', 'pip', '--version')) return skipped(t, 'pip is not there')
  const args = ['download', '--no-cache-dir', '--no-deps', '--index-url', `${echo}/simple`, 'no-such-package']
  const { output, requests } = await started(['python3', '-m', 'pip', ...args])
  t.match(output, /No matching distribution/)
  t.equal(requests[0]?.path, '/simple/no-such-package/')
})

t.test('the AWS CLI', async (t) => {
  if (await isMissing('aws', '--version')) return skipped(t, 'aws is not there')
  const args = ['--endpoint-url', echo, '--region', 'eu-central-1', 'dynamodb', 'list-tables']
  const { code, output, requests } = await started(['aws', ...args], {
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
  })
  t.equal(code, 0, output)
  t.match(requests, [{ path: '/', authorization: /^AWS4-HMAC-SHA256 / }])
})

/** Deno has 92 MiB. */
const findDeno = async (): Promise<{ readonly deno: string } | { readonly missing: string }> => {
  if (!(await isMissing('deno', '--version'))) return { deno: 'deno' }
  if (!LONG) return { missing: 'deno is not there; npm run test:long fetches it' }
  const found = await npmWith('deno', ['deno@2.9.6'])
  if ('missing' in found) return found
  const [deno] = globSync(join(found.packages, 'node_modules/@deno/*/deno'))
  return deno === undefined ? { missing: 'deno has no program for this machine' } : { deno }
}

t.test('Deno', async (t) => {
  const found = await findDeno()
  if ('missing' in found) return skipped(t, found.missing)
  const command = [found.deno, 'run', '--allow-net', join(HERE, 'deno.mjs'), `${echo}/deno`, token]
  const { code, output, requests } = await started(command, { DENO_DIR: join(directory, 'deno') })
  t.equal(code, 0, output)
  t.match(output, /^200 /m)
  t.match(requests, [{ path: '/deno', body: `{"pan":"${SECRET}"}` }])
})
