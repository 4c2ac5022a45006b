import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { get as getPlain, type IncomingMessage } from 'node:http'
import { get as getTls } from 'node:https'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createAuthority } from '../kit/authority.ts'
import { directoryFor } from '../kit/directory.ts'
import { queryPostgres, startPostgres } from '../kit/postgres.ts'
import { freePort } from '../kit/sidevault.ts'
import { delegateTenant } from '../kit/tenant-role.ts'
import { startContainer } from './container.ts'
import { helmMissing, sidecarManifests } from './helm.ts'
import { environmentOf, kubernetes, type Manifest } from './kit.ts'

const { ours, secrets } = kubernetes()
const BOOTSTRAP_KEY = `key_${randomBytes(20).toString('hex')}`

/** By parent, each process of this machine. */
const parents = (): ReadonlyMap<number, number> =>
  new Map(
    readdirSync('/proc').flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        return [[Number(name), Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2])] as const]
      } catch {
        return []
      }
    }),
  )

const below = (pid: number, all = parents()): readonly number[] => [
  pid,
  ...[...all].filter(([, parent]) => parent === pid).flatMap(([child]) => below(child, all)),
]

const statusOf = (pid: number): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readFileSync(`/proc/${pid}/status`, 'utf8')
      .split('\n')
      .map((line) => line.split(/:\s*/, 2) as [string, string]),
  )

/** True if a process has this file open. */
const opens = (pid: number, inode: number): boolean =>
  readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return statSync(`/proc/${pid}/fd/${fd}`).ino === inode
    } catch {
      return false // it has been closed
    }
  })

interface Readiness {
  readonly components: readonly { readonly name: string; readonly missing?: readonly string[] }[]
}

/** Body of `/readyz` when it is ready. */
const readiness = (url: string) =>
  new Promise<Readiness | undefined>((resolve) => {
    const read = async (response: IncomingMessage) => {
      const body: unknown = await json(response)
      resolve(response.statusCode === 200 ? (body as Readiness) : undefined)
    }
    const options = { rejectUnauthorized: false, agent: false }
    const get = url.startsWith('https:') ? getTls : getPlain
    get(`${url}/readyz`, options, read).on('error', () => resolve(undefined))
  })

/** Starts containers as their manifests say, and looks at their processes. */
const createRuntime = (t: Test, shared: string) => {
  const folder = directoryFor(t)
  writeFileSync(join(folder, 'leaked'), '')
  const leaked = openSync(join(folder, 'leaked'), 'r')
  t.teardown(() => closeSync(leaked))
  /** `url`: of its health. */
  return async (
    { pod, container }: { readonly pod: Manifest; readonly container: Manifest },
    secrets: ReadonlyMap<string, Manifest>,
    { url, ...env }: Readonly<Record<string, string>> & { readonly url: string },
  ): Promise<void> => {
    const child = startContainer(pod, container, {
      folder: join(folder, container.args.join('-')),
      secrets,
      env: { ...environmentOf(container, secrets), ...env },
      shared,
      leaked: [leaked],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said += chunk))
    const ended = new Promise((resolve) => child.once('exit', resolve))
    t.teardown(async () => {
      child.kill('SIGTERM')
      await ended
    })
    const ask = () => readiness(url)
    let ready = await ask()
    while (ready === undefined && child.exitCode === null) ready = await setTimeout(100).then(ask)
    t.ok(ready, `${container.args.join(' ')} is ready ${ready ? '' : said}`)
    if (ready === undefined) return

    const pids = below(child.pid as number)
    t.ok(pids.length > 2, 'Envoy and our processes')
    const user = container.securityContext.runAsUser ?? pod.spec.securityContext.runAsUser
    for (const pid of pids) {
      const status = statusOf(pid)
      t.match(status, { Uid: new RegExp(`^${user}\\s${user}\\s`) })
      t.match(status, { CapEff: '0000000000000000', CapBnd: '0000000000000000', NoNewPrivs: '1' })
      t.notOk(opens(pid, fstatSync(leaked).ino), `${status.Name} has nothing that its starter left open`)
    }
    if (container.args.includes('admin')) return
    // its sandbox starts once it responds
    const missing = (of: Readiness | undefined) =>
      of?.components.find(({ name }) => name === 'sandbox')?.missing
    while (missing(ready) === undefined && child.exitCode === null) ready = await setTimeout(100).then(ask)
    t.same(missing(ready), ['uid'], 'all confinement but a user of their own')
  }
}

if (process.getuid?.() === 0 && process.platform === 'linux')
  t.test('the manifests run as written: user, groups, modes, read-only root, no capability', async (t) => {
    const postgres = await startPostgres({ own: true })
    t.teardown(() => postgres.close())
    const shared = postgres.socketDirectory ?? ''
    chmodSync(shared, 0o755)
    const { cert, key } = await (await createAuthority()).issue(['sidevault-admin'])
    const filled = new Map(secrets)
    const rootKey = randomBytes(32).toString('base64')
    const redis = 'redis://127.0.0.1:1'
    filled.set('sidevault-root-key', { 'root.key': rootKey })
    for (const name of ['sidevault-admin-tls', 'sidevault-gateway-tls'])
      filled.set(name, { 'tls.crt': cert, 'tls.key': key })
    const store = await postgres.database()
    filled.set('sidevault-connections', { store, redis })
    const start = createRuntime(t, shared)
    for (const each of ours) {
      const ops = `127.0.0.1:${await freePort()}`
      await start(each, filled, {
        url: `https://${ops}`,
        SIDEVAULT_LISTEN: `127.0.0.1:${await freePort()}`,
        SIDEVAULT_FORWARD_LISTEN: `127.0.0.1:${await freePort()}`,
        SIDEVAULT_OPS_LISTEN: ops,
        SIDEVAULT_BOOTSTRAP_KEY: BOOTSTRAP_KEY,
      })
    }
    if (helmMissing) return void t.pass(`NOT RUN: ${helmMissing}`, { skip: helmMissing })

    const folder = directoryFor(t)
    const operator = {
      SIDEVAULT_STORE: store,
      SIDEVAULT_ROOT_KEY: 'env:ROOT_KEY',
      ROOT_KEY: rootKey,
      SIDEVAULT_DATA_DIR: join(folder, 'data'),
    }
    const address = new URL(postgres.admin)
    address.pathname = new URL(store).pathname
    const [row] = await queryPostgres<{ id: string }>(address.href, 'select id from tenants')
    const tenant = row?.id ?? ''
    const out = join(folder, 'delegated.key')
    const role = await delegateTenant(operator, {
      admin: postgres.admin,
      tenant,
      name: 'shop',
      out,
    })
    filled.set('shop-gateway', { 'delegated.key': readFileSync(out, 'utf8'), store: role, redis })
    const [{ spec }] = await sidecarManifests(t, '--set', `tenant=${tenant}`)
    const pod = spec.template
    const listen = `127.0.0.1:${await freePort()}`
    await start({ pod, container: pod.spec.initContainers[0] }, filled, {
      url: `http://${listen}`,
      SIDEVAULT_LISTEN: listen,
    })
  })
