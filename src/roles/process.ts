/** Entry point of the supervisor's child processes: `node process.ts`. A `start` message sets the role. */
import { AppError } from '../common/errors.ts'
import { killQuietly } from '../common/kill.ts'
import { createLog } from '../common/log.ts'
import { type Config, loadConfig } from '../config.ts'
import { RootKeySourceError } from '../keys/root-key.ts'
import type { AcceptedSettings, ChildMessage, ProcessStart } from '../supervisor/messages.ts'
import { watchSupervisor } from '../supervisor/watch-supervisor.ts'
import type { RoleEvents, RunningRole } from './role-events.ts'
import { exportsTraces } from './trace-settings.ts'
import { warmUp } from './warm-up.ts'

let role: Promise<RunningRole> | undefined

/** A report that cannot be written needs no error: the supervisor has exited, and 'disconnect' follows. */
const report = (message: ChildMessage) => process.send?.(message, undefined, undefined, () => {})

const sandboxes = new Set<number>()

const events: RoleEvents = {
  // Sent before a plugin's code runs: code in an endless loop could not report afterwards.
  onProgress: (place) => report({ kind: 'progress', ...(place === undefined ? {} : { place }) }),
  onSandbox: (pid, what) => {
    const alive = what === 'started'
    if (alive) sandboxes.add(pid)
    else sandboxes.delete(pid)
    report({ kind: 'sandbox', pid, alive })
  },
}

// A sandbox in an endless loop does not notice that its parent has exited.
process.on('exit', () => {
  for (const pid of sandboxes) killQuietly(pid)
})

const configOf = ({ configFile: file, baseDir: cwd }: ProcessStart, { content }: AcceptedSettings): Config =>
  loadConfig(process.env, { file, cwd, content })

const run = async (start: ProcessStart): Promise<RunningRole> => {
  const config = configOf(start, start.settings)
  const name = start.kind === 'admin' ? 'admin' : `gateway-${start.worker}`
  const log = createLog(name, config.logLevel)
  if (!start.isRestart) await warmUp(start, log)
  const tracing = exportsTraces(process.env)
    ? (await import('./tracing.ts')).startTracing(name, log)
    : undefined
  const role =
    start.kind === 'admin'
      ? await (await import('./admin.ts')).startAdminRole(config, start, log, events)
      : await (await import('./gateway.ts')).startGatewayRole(config, start, log, events)
  if (tracing === undefined) return role
  return {
    ...role,
    close: async () => {
      await role.close()
      await tracing.close()
    },
  }
}

let reload: (settings: AcceptedSettings) => Promise<void> = async () => {}

const begin = (start: ProcessStart) => {
  process.title = `sidevault: ${start.kind}`
  process.chdir(start.dataDir)
  const running = run(start)
  role = running
  reload = async (settings) => (await running).reload(configOf(start, settings), settings.trustBundle)
  role.then(
    ({ installed }) => {
      report({ kind: 'ready', installed: installed !== undefined, ...installed })
    },
    (error: unknown) => {
      const plugins = error instanceof Error && error.name === 'PluginIssues'
      const known = plugins || error instanceof AppError
      if (!known) createLog(start.kind).fatal({ err: error }, 'the process cannot start')
      const message = known
        ? (error as Error).message
        : `The ${start.kind} process cannot start. See its log line.`
      report({ kind: 'failed', message, configuration: plugins || error instanceof RootKeySourceError })
    },
  )
}

process.title = 'sidevault: loading'
watchSupervisor({
  start: begin,
  settings: (settings) => {
    reload(settings).then(
      () => report({ kind: 'settings' }),
      // A process must not continue with outdated settings.
      (error: unknown) => {
        createLog('process').fatal({ err: error }, 'the process cannot apply the new settings')
        process.exit(1)
      },
    )
  },
  check: () => {
    role?.then(
      async (running) => report({ kind: 'checked', failed: (await running.failed?.()) ?? [] }),
      () => {}, // reported by `begin`
    )
  },
  drain: () => {
    role?.then(
      (running) => running.drain?.(),
      () => {}, // reported by `begin`
    )
  },
  stop: async () => (await role)?.close(),
})
