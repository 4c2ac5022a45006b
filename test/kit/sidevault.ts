import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Role } from '../../src/supervisor/messages.ts'
import { rememberChecks, shareChecks } from './checked.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Ports below the ephemeral range, so that no connection gets one before its server listens. */
const PORTS = { first: 10_240, count: 20_000 }

/** False for a port that another process of this test run has been given. */
const isUnclaimed = (port: number): boolean => {
  const claims = process.env.SIDEVAULT_TEST_CHECKED
  if (claims === undefined) return true
  try {
    closeSync(openSync(join(claims, `port-${port}`), 'wx'))
    return true
  } catch {
    return false
  }
}

/** A port that is free, and that no other test is given. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = PORTS.first + randomInt(PORTS.count)
    const server = createServer().listen(port, '127.0.0.1')
    const listens = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!listens) continue
    server.close()
    await once(server, 'close')
    if (isUnclaimed(port)) return port
  }
}

/** A response with its body both as text and, where it is JSON, parsed. */
export interface Response {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly json: any
}

export interface Sidevault {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  /** Key of the first tenant's management application. */
  readonly managementKey: string
  readonly process: ChildProcess
  readonly pid: number
  /** Everything printed so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  call(
    method: string,
    path: string,
    options?: { key?: string; body?: unknown; headers?: Record<string, string> },
  ): Promise<Response>
  /** A private application with these permissions (or rules); its key. */
  application(grants: { permissions?: string[]; rules?: unknown[] }, type?: string): Promise<string>
  /** SIGTERM, then waits for the end; the exit code. */
  stop(): Promise<number | null>
  /** SIGKILL of the supervisor and waits for it. */
  kill(): Promise<void>
}

export interface SidevaultOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Starts on an existing data directory, e.g. after a kill. */
  readonly dataDir?: string
  readonly port?: number
  /** Default: all. */
  readonly role?: Role
  /** Further arguments of "start". */
  readonly args?: readonly string[]
  /** The folder of the program; default: this project. */
  readonly project?: string
  /** Working directory; default: the project. */
  readonly cwd?: string
  /** Each process may have so many files and connections open. */
  readonly handles?: number
}

const MANAGEMENT_KEY = 'key_6vZtXqW9sLr2YpN4mHd8cKf1RbJg7TuE'

/** Calls a service at this URL. */
export const callerOf =
  (url: string): Sidevault['call'] =>
  async (method, path, { key, body, headers = {} } = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key === undefined ? {} : { 'svc-api-key': key }),
        ...(body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
          ? {}
          : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : {
            body: Buffer.isBuffer(body)
              ? Buffer.from(body)
              : typeof body === 'string'
                ? body
                : JSON.stringify(body),
          }),
    })
    const text = await response.text()
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch {
      json = undefined
    }
    return { status: response.status, headers: response.headers, text, json }
  }

/** `Sidevault.application` with this management key. */
export const applicationBy =
  (call: Sidevault['call'], key: string): Sidevault['application'] =>
  async (grants, type = 'private') => {
    const response = await call('POST', '/applications', { key, body: { name: 'test', type, ...grants } })
    if (response.status !== 201) throw new Error(`cannot create an application: ${response.text}`)
    return response.json.key
  }

/** Starts the whole program as `npm start` does after its bootstrap, and waits until /readyz says yes. */
export const startSidevault = async (options: SidevaultOptions = {}): Promise<Sidevault> => {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'sidevault-test-'))
  if (options.dataDir === undefined) rememberChecks(dataDir)
  const port = options.port ?? (await freePort())
  const managementKey = options.env?.SIDEVAULT_BOOTSTRAP_KEY ?? MANAGEMENT_KEY
  const { project = root } = options
  const command = [
    process.execPath,
    join(project, 'bin/sidevault.js'),
    'start',
    '--role',
    options.role ?? 'all',
    ...(options.args ?? []),
  ]
  const limited = ['sh', '-c', `ulimit -n ${options.handles}; exec "$@"`, 'sh', ...command]
  const [file = '', ...args] = options.handles === undefined ? command : limited
  const child = spawn(file, args, {
    cwd: options.cwd ?? project,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...(process.env.ENVOY_BIN ? { ENVOY_BIN: process.env.ENVOY_BIN } : {}),
      SIDEVAULT_LISTEN: `127.0.0.1:${port}`,
      SIDEVAULT_DATA_DIR: dataDir,
      SIDEVAULT_BOOTSTRAP_KEY: managementKey,
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const exited = once(child, 'exit')
  const url =
    options.env?.SIDEVAULT_TLS_CERT === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`

  const call = callerOf(url)

  const ops = options.env?.SIDEVAULT_OPS_LISTEN
  const deadline = Date.now() + 120_000
  for (;;) {
    if (child.exitCode !== null)
      throw new Error(`sidevault ended with ${child.exitCode}:\n${stdout}\n${stderr}`)
    if (Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`sidevault is not ready after two minutes:\n${stdout}\n${stderr}`)
    }
    const ready = await (ops === undefined ? call('GET', '/readyz') : fetch(`http://${ops}/readyz`)).catch(
      () => undefined,
    )
    if (ready?.status === 200) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }

  if (options.dataDir === undefined && options.env?.SIDEVAULT_PLUGINS === undefined) shareChecks(dataDir)

  return {
    url,
    port,
    dataDir,
    managementKey,
    process: child,
    pid: child.pid!,
    stdout: () => stdout,
    stderr: () => stderr,
    call,
    application: applicationBy(call, managementKey),
    stop: async () => {
      child.kill('SIGTERM')
      const [code] = await exited
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
      return code
    },
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** Every `token:*` permission. */
export const ALL_TOKEN_PERMISSIONS = [
  'token:create',
  'token:read',
  'token:update',
  'token:delete',
  'token:use',
  'token:search',
]
