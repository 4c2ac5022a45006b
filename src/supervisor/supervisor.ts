import { createLog } from '../common/log.ts'
import { type Config, ConfigError } from '../config.ts'
import { openDataDirectory } from './data-directory.ts'
import { shownKey } from './generated-key.ts'
import type { Reloaded } from './live-settings.ts'
import type { Role, ServiceState } from './messages.ts'
import { createService } from './service.ts'
import { StartError } from './start-error.ts'
import { startupBanner } from './startup-banner.ts'

interface SupervisorOptions {
  readonly role: Role
  /** See `ProcessStart.tenant`. */
  readonly tenant: string | undefined
  readonly configFile: string | undefined
  /** Undefined: none was found. Only a start without Envoy succeeds then. */
  readonly envoyBinary: string | undefined
  readonly env: NodeJS.ProcessEnv
  /** Shows text to the person who started the service. */
  readonly print: (text: string) => void
  /** True if `print` writes to a terminal. Other output may be stored, so no key is written to it. */
  readonly terminal: boolean
}

interface Supervisor {
  /**
   * Resolves when all processes are ready and the startup banner is printed. Rejects with StartError or ConfigError
   * after all have stopped.
   */
  readonly ready: Promise<void>
  /** Resolves when everything is stopped. */
  readonly done: Promise<void>
  /** Drains and stops all processes. A second call kills the remaining ones. */
  stop(): void
  /** Applies the current content of the configuration file and of the files it names (`LiveSettings.reload`). */
  reload(): Promise<Reloaded>
}

/**
 * Runs the service: locks the data directory, starts admin, gateways and Envoy and restarts them until `stop`. Changes
 * the working directory to the data directory. Throws StartError if the data directory cannot be locked.
 */
export const startSupervisor = (config: Config, options: SupervisorOptions): Supervisor => {
  const { role } = options
  const { runDir, release } = openDataDirectory(config.dataDir, role)
  process.chdir(config.dataDir)
  const log = createLog('supervisor', config.logLevel)
  let phase: ServiceState = 'starting'
  /** Fires at the first call of `stop`, and at the second one. */
  const halt = new AbortController()
  const kill = new AbortController()
  const { promise: done, resolve: finish } = Promise.withResolvers<void>()

  const reload = async (): Promise<Reloaded> => {
    if (phase !== 'ready')
      throw new StartError('The service is starting or stopping. Retry when it is ready.')
    return service.reload()
  }
  const service = createService(config, { ...options, runDir, reload, state: () => phase, log })

  const start = async () => {
    const { edge, listen, api, ops, forward } = await service.start(halt.signal)
    halt.signal.throwIfAborted()
    log.info({ listen, ...(api && { api }), ...(ops && { ops }), role }, 'ready')
    options.print(
      startupBanner({
        ...{ config, listen, ops, forward, role, ...service.first },
        api: edge ? api : undefined,
        firstSteps: service.demo,
      }),
    )
    phase = 'ready'
  }

  const shutDown = async (interrupted: boolean) => {
    log.info('stopping')
    await started.catch(() => {}) // Processes that it was starting must be ended too.
    await service.stop({ interrupted, kill: kill.signal })
    release()
    const { key } = service.first
    if (interrupted && key !== undefined)
      options.print(`The start was interrupted after the management key was created: ${shownKey(key)}\n`)
    log.info('stopped')
  }
  const stop = () => {
    if (phase === 'stopping') return kill.abort()
    const interrupted = phase === 'starting'
    phase = 'stopping'
    halt.abort()
    shutDown(interrupted).then(finish, finish)
  }

  const started = start()
  const ready = started.catch(async (error: unknown) => {
    if (phase === 'stopping') return
    kill.abort()
    stop()
    await done
    if (error instanceof StartError || error instanceof ConfigError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartError(`The service did not become ready: ${reason}. See the log lines above.`)
  })
  return { ready, done, stop, reload }
}
