import { existsSync, writeFileSync } from 'node:fs'
import { releaseStartMemory } from '../common/gc-pressure.ts'
import { createLog, type Log } from '../common/log.ts'
import type { Config } from '../config.ts'
import { baseUrl } from './base-url.ts'
import { type Control, startControl } from './control.ts'
import { openKeyWarning } from './envoy-options.ts'
import { type GeneratedKey, handOver } from './generated-key.ts'
import { claimListeners, type Listeners } from './listeners.ts'
import type { Reloaded } from './live-settings.ts'
import { type ProcessStart, type Role, type ServiceState, socketsIn } from './messages.ts'
import { getReadiness } from './probe.ts'
import { createProcessGroup } from './process-group.ts'
import { StartError } from './start-error.ts'
import { limitStart } from './start-limit.ts'

/** Marker file in the data directory: schema and keys exist. */
const INITIALISED = 'run/initialised'
/** Time for a process to close after its last request, ms. */
const CLOSE_MS = 10_000

interface ServiceDeps {
  readonly role: Role
  /** See `ProcessStart.tenant`. */
  readonly tenant: string | undefined
  readonly runDir: string
  readonly configFile: string | undefined
  readonly envoyBinary: string | undefined
  readonly env: NodeJS.ProcessEnv
  /** False: a generated key is written to a file. */
  readonly terminal: boolean
  /** Handles `POST /reload` of the control socket. */
  readonly reload: () => Promise<object>
  readonly state: () => ServiceState
  readonly log: Log
}

/** Envoy's configuration and all processes. Its files are relative to the working directory, the data directory. */
interface Service {
  /** `installed`: this start created the first tenant. `key`: its management key, if it was generated. */
  readonly first: { readonly installed: boolean; readonly key: GeneratedKey | undefined }
  /** True: there is a demo destination. */
  readonly demo: boolean
  /**
   * Resolves when the service is ready. Rejects with StartError, ConfigError or the reason of `halt`; call `stop` then.
   */
  start(halt: AbortSignal): Promise<Listeners>
  reload(): Promise<Reloaded>
  /**
   * Drains and ends all processes. `interrupted`: the start did not succeed. Kills what still runs when `kill` fires.
   * To be called after `start` has settled.
   */
  stop(options: { readonly interrupted: boolean; readonly kill: AbortSignal }): Promise<void>
}

export const createService = (config: Config, deps: ServiceDeps): Service => {
  const { role, tenant, runDir, configFile, envoyBinary, env, log } = deps
  const { baseDir, dataDir } = config
  const { envoyAdmin } = socketsIn(runDir, config.workers)
  const demo = role === 'all' && config.loopback
  const first: { installed: boolean; key: GeneratedKey | undefined } = { installed: false, key: undefined }
  let control: Control | undefined
  const processes = createProcessGroup({
    ...{ env, log, envoyAdmin },
    onReady: (report) => {
      first.installed ||= report.installed ?? false
      if (report.key !== undefined) first.key ??= handOver(report.key, dataDir, deps.terminal)
    },
  })

  const start = async (halt: AbortSignal): Promise<Listeners> => {
    const openKey = await openKeyWarning(config)
    if (openKey) log.warn(openKey)
    const listeners = await claimListeners(config, role)
    const { edge, listen, api, ops, forward, ports } = listeners
    if (edge && !envoyBinary)
      throw new StartError('ENVOY_BIN is not set. Start with "npm start", which finds or installs Envoy.')
    control = await startControl(config, {
      ...{ role, runDir, listeners, demo, env, configFile, log },
      reload: deps.reload,
      state: deps.state,
      notify: processes.applySettings,
    })
    halt.throwIfAborted()

    const { settings, xds, bootstrapFile } = control
    const common = {
      role,
      tenant,
      baseDir,
      dataDir,
      configFile,
      runDir,
      ports,
      api,
      ops,
      forward,
      edge,
      demo,
    }
    const startOf = (kind: ProcessStart['kind'], worker: number) => {
      let starts = 0
      return (): ProcessStart => ({
        ...common,
        ...{ kind, worker, settings: settings.accepted, isRestart: starts++ > 0 },
      })
    }
    const limit = limitStart(halt)
    if (role !== 'gateway') {
      processes.startService('admin', 'admin', startOf('admin', 0))
      // On the first start the admin process creates schema and keys before the gateways can open them.
      if (!existsSync(INITIALISED)) {
        await limit.untilStarted(processes.all)
        writeFileSync(INITIALISED, '', { mode: 0o600 })
      }
    }
    const gateways = role === 'admin' ? 0 : config.workers
    for (let worker = 0; worker < gateways; worker++)
      processes.startService(`gateway-${worker}`, 'gateway', startOf('gateway', worker))
    if (edge && envoyBinary)
      processes.startEnvoy(
        {
          binary: envoyBinary,
          configFile: bootstrapFile,
          log: createLog('envoy', config.logLevel),
          isEnding: () => halt.aborted,
        },
        xds.restarted,
      )
    // While the processes load: it would compete with the first calls.
    releaseStartMemory()
    await limit.untilStarted(processes.all)
    const url = baseUrl(ops ?? listen, config.tls !== undefined)
    await limit.untilReady({ failed: processes.failed, probe: async () => (await getReadiness(url))?.status })
    return listeners
  }

  return {
    first,
    demo,
    start,
    reload: async () => {
      if (control === undefined) throw new Error('the service has not started')
      return control.settings.reload()
    },
    stop: async ({ interrupted, kill }) => {
      control?.settings.close()
      const { drainMs } = control?.settings.current ?? config
      await processes.drain(AbortSignal.any([kill, AbortSignal.timeout(drainMs)]))
      // An interrupted start has nothing to close, except the first one, which may be creating keys.
      const abrupt = interrupted && existsSync(INITIALISED)
      const graceMs = CLOSE_MS + (config.apiListen === undefined ? 0 : drainMs)
      await processes.stop({ abrupt, graceMs, kill })
      await control?.xds.close()
    },
  }
}
