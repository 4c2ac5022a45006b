import { existsSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { steadyClock, systemClock } from '../common/clock.ts'
import { releaseStartMemory } from '../common/gc-pressure.ts'
import { createLog } from '../common/log.ts'
import { type Config, ConfigError } from '../config.ts'
import { renderBootstrap } from '../control-plane/bootstrap.ts'
import { startXdsServer, type XdsServer } from '../control-plane/xds-server.ts'
import { removeTrustBundles } from '../egress/trust-bundle.ts'
import { openDataDirectory } from './data-directory.ts'
import { ensureDemoCertificate } from './demo-certificate.ts'
import { drainEnvoy, envoyKind } from './envoy.ts'
import { envoyOptions, type InUse, openKeyWarning } from './envoy-options.ts'
import { type GeneratedKey, handOver, shownKey } from './generated-key.ts'
import { createLiveSettings, fingerprintOf, type LiveSettings, type Reloaded } from './live-settings.ts'
import { type Managed, manage } from './managed-process.ts'
import { type FailedComponent, type ProcessStart, type Role, socketsIn } from './messages.ts'
import { askFailed, forkProcess, giveSettings, nodeKind, order } from './node-process.ts'
import { claimPort } from './port.ts'
import { probe } from './probe.ts'
import { notReady, waitUntilReady } from './readiness.ts'
import { StartError } from './start-error.ts'
import { baseUrl, startupBanner } from './startup-banner.ts'

const READY_TIMEOUT_MS = 60_000
/** Marker file in the data directory: schema and keys exist. */
const INITIALISED = 'run/initialised'
/** Time for a process to close after its last request, ms. */
const CLOSE_MS = 10_000

export interface SupervisorOptions {
  readonly role: Role
  readonly configFile: string | undefined
  /** Undefined: none was found. Only a start without Envoy succeeds then. */
  readonly envoyBinary: string | undefined
  readonly env: NodeJS.ProcessEnv
  /** Shows text to the person who started the service. */
  readonly print: (text: string) => void
  /** True if `print` writes to a terminal. Other output may be stored, so no key is written to it. */
  readonly terminal: boolean
}

export interface Supervisor {
  /**
   * Resolves when all processes are ready and the startupBanner is printed. Rejects with StartError after all have
   * stopped.
   */
  readonly ready: Promise<void>
  /** Resolves when everything is stopped. */
  readonly done: Promise<void>
  /** Drains and stops all processes. A second call kills the remaining ones. */
  stop(): void
  /** Applies the current content of the configuration file and of the files it names (`LiveSettings.reload`). */
  reload(): Promise<Reloaded>
}

/** Rejects when the signal is aborted. The rejection may stay unhandled. */
const whenAborted = (signal: AbortSignal): Promise<never> => {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  return aborted
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
  const sockets = socketsIn(runDir, config.workers)
  const halt = new AbortController()
  const impatient = new AbortController()
  let stopping: Promise<void> | undefined
  let control: XdsServer | undefined
  let settings: LiveSettings | undefined
  let envoy: Managed | undefined
  let services: readonly Managed[] = []
  const first: { installed: boolean; key: GeneratedKey | undefined } = { installed: false, key: undefined }

  /** The admin process drains its own listener, at the same time as Envoy, before it closes. */
  const closeMs = () =>
    CLOSE_MS + (config.apiListen === undefined ? 0 : (settings?.current ?? config).drainMs)
  const end = async (one: Managed | undefined, ask: Parameters<Managed['stop']>[0]) => {
    const child = one?.child
    const kill = () => child?.kill('SIGKILL')
    if (impatient.signal.aborted) kill()
    else impatient.signal.addEventListener('abort', kill, { once: true })
    await one?.stop(ask, closeMs())
  }
  const shutDown = async () => {
    log.info('stopping')
    await started.catch(() => {}) // Processes that it was starting must be ended too.
    settings?.close()
    const enough = AbortSignal.any([
      impatient.signal,
      AbortSignal.timeout((settings?.current ?? config).drainMs),
    ])
    for (const { child } of services) order(child, { kind: 'drain' })
    if (envoy?.child && !enough.aborted) await drainEnvoy(sockets.envoyAdmin, enough)
    await end(envoy, (child) => child.kill('SIGTERM'))
    // An interrupted start has nothing to close, except the first one, which may be creating keys.
    const abrupt = !announced && existsSync(INITIALISED)
    const close = (one: Managed | undefined) =>
      end(one, (child) => (abrupt ? child.kill('SIGKILL') : order(child, { kind: 'stop' })))
    // The first service ingests the journals of all.
    const [ingesting, ...others] = services
    await Promise.all(others.map(close))
    await close(ingesting)
    await control?.close()
    release()
    if (!announced && first.key !== undefined)
      options.print(
        `The start was interrupted after the management key was created: ${shownKey(first.key)}\n`,
      )
    log.info('stopped')
  }
  const { promise: done, resolve: finish } = Promise.withResolvers<void>()
  const stop = () => {
    if (stopping !== undefined) return impatient.abort()
    halt.abort()
    stopping = shutDown()
    stopping.then(finish, finish)
  }

  const notifyEnvoy = (one: Managed) => {
    const pid = envoy?.child?.pid
    if (pid !== undefined) order(one.child, { kind: 'envoy', pid })
  }
  /** What the start waits for. */
  let waiting: readonly FailedComponent[] = []
  const whenStarted = async (all: readonly Managed[]) => {
    const pending = new Set(all)
    const show = () => {
      waiting = [...pending].map(({ name }) => ({ name, reason: 'it has not started' }))
    }
    show()
    await Promise.all(
      all.map(async (one) => {
        await one.started
        pending.delete(one)
        show()
      }),
    )
  }
  let announced = false
  const startService = (name: string, start: Omit<ProcessStart, 'settings'>, live: LiveSettings): Managed => {
    const kind = nodeKind(name, {
      start: () => ({ ...start, settings: live.accepted }),
      spawn: () => forkProcess(options.env, start.kind),
      onReady: (report) => {
        first.installed ||= report.installed ?? false
        if (report.key !== undefined) first.key ??= handOver(report.key, config.dataDir, options.terminal)
        notifyEnvoy(one)
      },
    })
    const one = manage(kind, { log, clock: steadyClock })
    return one
  }

  const begin = async () => {
    const openKey = await openKeyWarning(config)
    for (const warning of [...config.warnings, ...(openKey ? [openKey] : [])]) log.warn(warning)
    const api =
      role === 'gateway' || config.apiListen === undefined
        ? undefined
        : await claimPort(config.apiListen, 'api_listen')
    // The role admin with a listener of its own needs no Envoy.
    const edge = role !== 'admin' || api === undefined
    const { envoyBinary } = options
    if (edge && !envoyBinary)
      throw new StartError('ENVOY_BIN is not set. Start with "npm start", which finds or installs Envoy.')
    const listen = edge ? await claimPort(config.listen) : api
    // Only gateways decide about tunnels.
    const forward =
      role === 'admin' || config.forwardListen === undefined
        ? undefined
        : await claimPort(config.forwardListen, 'forward_listen')
    const apiPort = api?.port ?? config.apiListen?.port
    const forwardPort = forward?.port ?? config.forwardListen?.port
    const ports = [edge ? listen.port : undefined, apiPort, forwardPort].filter((port) => port !== undefined)
    const demo = role === 'all' && config.loopback
    const demoAuthority = demo ? (await ensureDemoCertificate(runDir, Date.now())).authority : undefined
    const optionsOf = (next: Config, inUse?: InUse) =>
      envoyOptions(next, {
        ...{ role, listen, forward, ownPorts: ports, runDir, demoAuthority, inUse },
        now: systemClock.now(),
      })
    const files = await fingerprintOf(config)
    const given = await optionsOf(config)
    await removeTrustBundles(runDir, (path) => path === given.egress.trustBundle)
    control = await startXdsServer(
      { log, clock: steadyClock, reload: async () => reload() },
      { socketPath: sockets.control, options: given, edge },
    )
    const live = createLiveSettings(
      { config, trustBundle: given.egress.trustBundle, files },
      {
        control,
        envoyOptions: optionsOf,
        notify: async (accepted) => {
          await Promise.all(services.map((one) => giveSettings(one.child, accepted)))
        },
        env: options.env,
        configFile: options.configFile,
        log,
      },
    )
    settings = live
    const bootstrap = `${runDir}/envoy.json`
    const { envoyAdmin: envoyAdminSocket, control: controlSocket } = sockets
    await writeFile(
      bootstrap,
      JSON.stringify(
        renderBootstrap({
          ...{ envoyAdminSocket, controlSocket, memoryBytes: config.envoyMemoryBytes },
          forwards: forward !== undefined,
          console: given.console === true,
        }),
      ),
      {
        mode: 0o600,
      },
    )
    halt.signal.throwIfAborted()

    const url = baseUrl(listen, config.tls !== undefined)
    const over = AbortSignal.any([AbortSignal.timeout(READY_TIMEOUT_MS), halt.signal])
    const tooLate = whenAborted(over)
    const { baseDir, dataDir, workers } = config
    const common = {
      role,
      baseDir,
      dataDir,
      configFile: options.configFile,
      runDir,
      ports,
      api,
      forward,
      edge,
      demo,
    }
    const admins = role === 'gateway' ? 0 : 1
    const gateways = role === 'admin' ? 0 : workers
    services = Array.from({ length: admins }, () =>
      startService('admin', { ...common, kind: 'admin', worker: 0 }, live),
    )
    // On the first start the admin process creates schema and keys before the gateways can open them.
    if (admins > 0 && !existsSync(INITIALISED)) {
      await Promise.race([whenStarted(services), tooLate])
      writeFileSync(INITIALISED, '', { mode: 0o600 })
    }
    services = [
      ...services,
      ...Array.from({ length: gateways }, (_, worker) =>
        startService(`gateway-${worker}`, { ...common, kind: 'gateway', worker }, live),
      ),
    ]
    if (edge && envoyBinary)
      envoy = manage(
        envoyKind({
          binary: envoyBinary,
          configFile: bootstrap,
          adminSocket: sockets.envoyAdmin,
          log: createLog('envoy', config.logLevel),
          isEnding: () => stopping !== undefined,
        }),
        {
          log,
          clock: steadyClock,
          onSpawn: () => {
            control?.restarted()
            queueMicrotask(() => services.forEach(notifyEnvoy))
          },
        },
      )
    await Promise.race([whenStarted([...services, ...(envoy ? [envoy] : [])]), tooLate])
    const readiness = { failed: () => askFailed(services[0]?.child), probe: () => probe(url) }
    const onFailed = (failed: readonly FailedComponent[]) => {
      waiting = failed
    }
    await Promise.race([waitUntilReady(readiness, { signal: over, onFailed }), tooLate])
    over.throwIfAborted()
    log.info({ listen, ...(api === undefined ? {} : { api }), role }, 'ready')
    options.print(
      startupBanner({
        config,
        listen,
        api: edge ? api : undefined,
        forward,
        role,
        firstSteps: demo,
        ...first,
      }),
    )
    announced = true
    releaseStartMemory()
  }
  const reload = async (): Promise<Reloaded> => {
    if (!announced || settings === undefined || stopping !== undefined)
      throw new StartError('The service is starting or stopping. Retry when it is ready.')
    return settings.reload()
  }
  const started = begin()
  const ready = started.catch(async (error: unknown) => {
    if (stopping !== undefined) return
    impatient.abort()
    stop()
    await done
    if (error instanceof StartError || error instanceof ConfigError) throw error
    if (error instanceof DOMException && error.name === 'TimeoutError')
      throw notReady(waiting, READY_TIMEOUT_MS)
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartError(`The service did not become ready: ${reason}. See the log lines above.`)
  })
  return { ready, done, stop, reload }
}
