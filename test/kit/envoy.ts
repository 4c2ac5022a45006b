import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, globSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { renderBootstrap } from '../../src/control-plane/bootstrap.ts'
import { type BootstrapOptions, settle } from '../../src/control-plane/options.ts'
import { type Snapshot, snapshotOf } from '../../src/control-plane/snapshot.ts'
import { freePort } from './sidevault.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The Envoy that tests run: `ENVOY_BIN`, else what the bootstrap script put into the cache. */
export const findEnvoy = (): string => {
  const candidates = [
    ...(process.env.ENVOY_BIN ? [process.env.ENVOY_BIN] : []),
    ...globSync(join(root, '.cache/envoy/*/envoy')),
    ...globSync(join(root, '.cache/envoy/*/bin/envoy')),
    join(root, '.cache/bin/envoy-dev'),
  ]
  for (const path of candidates)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {}
  throw new Error('no Envoy found: run the bootstrap script (npm test does), or set ENVOY_BIN')
}

/** A GET on Envoy's administration socket. */
const administration = (socketPath: string, path: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    request({ socketPath, path }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .on('error', reject)
      .end()
  })

/** The resources of the control plane in one file, for an Envoy without one. */
export const renderStatic = (options: BootstrapOptions): object => {
  const { listeners, routes, clusters, secrets } = createSnapshot(options)
  const forwards = options.forward !== undefined
  const bootstrap = renderBootstrap({ ...options, forwards, controlSocket: '' })
  return JSON.parse(
    JSON.stringify({
      ...bootstrap,
      dynamic_resources: undefined,
      static_resources: { listeners, clusters, secrets },
    }),
    (_, value) => {
      if (value?.sds_config !== undefined) return { name: value.name }
      if (value?.rds === undefined) return value
      const { rds, ...manager } = value
      return { ...manager, route_config: routes.find(({ name }) => name === rds.route_config_name) }
    },
  )
}

/** Output of `envoy --mode validate` for a configuration; '' when it is valid. */
export const validateBootstrap = (directory: string, options: BootstrapOptions): string => {
  writeFileSync(join(directory, 'validate.json'), JSON.stringify(renderStatic(options)))
  const { status, stderr } = spawnSync(
    findEnvoy(),
    ['-c', 'validate.json', '--mode', 'validate', '-l', 'error'],
    { cwd: directory, encoding: 'utf8' },
  )
  return status === 0 ? '' : stderr
}

/** Envoy's resources for these options. */
export const createSnapshot = (options: BootstrapOptions): Snapshot => snapshotOf(settle(options))

export interface RunningEnvoy {
  readonly port: number
  readonly process: ChildProcess
  readonly stderr: () => string
  /** A counter or gauge by name; 0 when it does not exist. */
  stat(name: string): Promise<number>
  /** A page of its administration interface. */
  page(path: string): Promise<string>
  stop(): Promise<void>
}

type EnvoyOptions = Omit<BootstrapOptions, 'listen' | 'envoyAdminSocket'> & {
  readonly listen?: BootstrapOptions['listen']
}

/** Runs an Envoy in `directory` without a control plane and waits until it is live. */
export const startEnvoy = async (directory: string, options: EnvoyOptions): Promise<RunningEnvoy> => {
  const listen = options.listen ?? { host: '127.0.0.1', port: await freePort() }
  return runEnvoy(
    directory,
    renderStatic({ ...options, listen, envoyAdminSocket: 'envoy.sock' }),
    listen.port,
  )
}

/** Runs an Envoy in `directory` that asks the control plane on `control.sock` there. */
export const startControlledEnvoy = (directory: string, port: number): Promise<RunningEnvoy> =>
  runEnvoy(
    directory,
    renderBootstrap({ envoyAdminSocket: 'envoy.sock', controlSocket: 'control.sock' }),
    port,
  )

/** Runs an Envoy with this bootstrap, whose administration is the socket `envoy.sock`, and waits until it is live. */
export const runEnvoy = async (
  directory: string,
  config: object,
  port: number,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningEnvoy> => {
  writeFileSync(join(directory, 'envoy.json'), JSON.stringify(config))
  const child = spawn(
    findEnvoy(),
    [
      '-c',
      'envoy.json',
      '--use-dynamic-base-id',
      '--concurrency',
      '1',
      '-l',
      process.env.ENVOY_LOG ?? 'error',
    ],
    { cwd: directory, env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
    if (process.env.ENVOY_LOG) process.stderr.write(chunk)
  })
  const socket = join(directory, 'envoy.sock')
  const deadline = Date.now() + 60_000
  for (;;) {
    if (child.exitCode !== null) throw new Error(`Envoy ended with ${child.exitCode}: ${stderr}`)
    const ready = await administration(socket, '/ready').catch(() => undefined)
    if (ready?.status === 200) break
    if (Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`Envoy is not ready: ${stderr}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return {
    port,
    process: child,
    stderr: () => stderr,
    async stat(name) {
      const { text } = await administration(socket, `/stats?filter=^${name.replaceAll('.', '\\.')}$`)
      return Number(/: (\d+)/.exec(text)?.[1] ?? 0)
    },
    page: async (path) => (await administration(socket, path)).text,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000)
      await ended
      clearTimeout(timer)
    },
  }
}
