import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import type { Log } from '../common/log.ts'
import { unixHttp } from '../common/unix-http.ts'
import { ROUTES } from '../control-plane/route-names.ts'
import { envoyArguments } from './envoy-arguments.ts'
import type { ProcessKind } from './managed-process.ts'

const POLL_MS = 20

/** Levels of Envoy's log (spdlog names) as levels of our log. */
const LEVELS: Readonly<Record<string, 'error' | 'warn' | 'info'>> = {
  critical: 'error',
  error: 'error',
  warning: 'warn',
}

/** Warnings at every start that an operator can do nothing about. */
const NOISE =
  /work-in-progress|xds\.core\.v3\.CidrRange|there is no configured limit to the number of allowed active|caught ENVOY_SIGTERM/i

/** Logged when Envoy is stopped while it waits for configuration. */
const STOP_NOISE = /REST update for \S+ failed/

/** A line of the access log, or undefined. */
const callIn = (line: string): Record<string, unknown> | undefined => {
  if (!line.startsWith('{"')) return undefined
  try {
    const { time, process, ...call } = JSON.parse(line)
    return call
  } catch {
    return undefined
  }
}

/**
 * No response, an error response, or an aborted one (a response flag). The management API logs its own error
 * responses.
 */
const isFailed = ({ status, flags, route, details }: Record<string, unknown>): boolean =>
  typeof status !== 'number' ||
  flags !== '-' ||
  status === 0 ||
  (status >= 400 && !(details === 'via_upstream' && (route === ROUTES.api || route === ROUTES.grpc)))

/** Writes Envoy's log lines to our log. */
const relay = (child: ChildProcess, { log, isEnding }: EnvoyOptions): void => {
  if (!child.stderr) return
  const lines = createInterface({ input: child.stderr })
  // It passes on the errors of its input.
  lines.on('error', (error) => log.warn(`Envoy's log cannot be read any more: ${error.message}`))
  lines.on('line', (line) => {
    if (line.trim() === '' || NOISE.test(line) || (isEnding() && STOP_NOISE.test(line))) return
    const call = callIn(line)
    if (call) return isFailed(call) ? log.warn(call, 'failed call') : log.info(call, 'call')
    const [, level = 'info', logger, text = line] = /^(\w+) (\S+) (.*)$/.exec(line) ?? []
    log[LEVELS[level] ?? 'info']({ logger }, text)
  })
}

/** On Linux the kernel kills Envoy with the supervisor; elsewhere the other processes do (`watchSupervisor`). */
const deathSignal = (): readonly string[] => {
  const prefix = ['--pdeathsig', 'KILL']
  return spawnSync('setpriv', [...prefix, 'true'], { stdio: 'ignore' }).status === 0
    ? ['setpriv', ...prefix]
    : []
}

/** True if Envoy has its configuration and listens. */
export const envoyIsLive = async (socketPath: string): Promise<boolean> => {
  const response = await unixHttp(socketPath, 'GET', '/ready').catch(() => undefined)
  return response?.status === 200
}

export interface EnvoyOptions {
  readonly binary: string
  /** Bootstrap file and administration socket, relative to the working directory. */
  readonly configFile: string
  readonly adminSocket: string
  readonly log: Log
  /** True once Envoy was asked to end. */
  readonly isEnding: () => boolean
}

/** Envoy as a managed process. It has its own session, so that Ctrl-C reaches only the supervisor. */
export const envoyKind = (options: EnvoyOptions): ProcessKind => {
  const [file = options.binary, ...before] = [...deathSignal(), options.binary]
  const args = [...before, ...envoyArguments(options.configFile, availableParallelism())]
  return {
    name: 'envoy',
    spawn: () => {
      const child = spawn(file, args, {
        env: { PATH: process.env.PATH },
        stdio: ['ignore', 'ignore', 'pipe'],
        detached: true,
      })
      relay(child, options)
      return child
    },
    ready: async (_child, signal) => {
      while (!(await envoyIsLive(options.adminSocket))) await setTimeout(POLL_MS, undefined, { signal })
    },
  }
}

/**
 * Drains Envoy: no new connections, and `connection: close` on responses. Resolves when no request is in flight, Envoy
 * has ended, or `signal` fires.
 */
export const drainEnvoy = async (socketPath: string, signal: AbortSignal): Promise<void> => {
  // At the edge and inside tunnels. An idle tunnel is no request.
  const stats = `/stats?filter=${encodeURIComponent('^http\\.(edge|forward)\\.downstream_rq_active$')}`
  try {
    await unixHttp(socketPath, 'POST', '/healthcheck/fail')
    await unixHttp(socketPath, 'POST', '/drain_listeners')
    while (!signal.aborted) {
      const { body } = await unixHttp(socketPath, 'GET', stats)
      if (!/downstream_rq_active: [1-9]/.test(body)) return
      await setTimeout(POLL_MS, undefined, { signal })
    }
  } catch {
    // Aborted, or Envoy has ended.
  }
}
