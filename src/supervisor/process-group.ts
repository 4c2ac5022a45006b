import { steadyClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { drainEnvoy, type EnvoyOptions, envoyKind } from './envoy.ts'
import { type Managed, manage, type StopOptions } from './managed-process.ts'
import type { AcceptedSettings, ChildMessage, FailedComponent, ProcessStart } from './messages.ts'
import { applySettings, checkComponents, forkProcess, nodeKind, send } from './node-process.ts'

interface ProcessGroupDeps {
  readonly env: NodeJS.ProcessEnv
  readonly log: Log
  /** Envoy's administration socket. */
  readonly envoyAdmin: string
  /** Called after each start of an admin or gateway process. */
  readonly onReady: (report: Extract<ChildMessage, { kind: 'ready' }>) => void
}

/** The processes of one supervisor, each restarted when it ends, until `stop`. */
interface ProcessGroup {
  readonly all: readonly Managed[]
  /** `start` is called for each start. */
  startService(name: string, kind: ProcessStart['kind'], start: () => ProcessStart): void
  /** `onSpawn` is called for each process of Envoy. */
  startEnvoy(options: Omit<EnvoyOptions, 'adminSocket'>, onSpawn: () => void): void
  /** Resolves when all processes have applied the settings. */
  applySettings(settings: AcceptedSettings): Promise<void>
  /** The components that fail. Undefined: unknown, as no process responds. */
  failed(): Promise<readonly FailedComponent[] | undefined>
  /** Accepts no new requests. Resolves when none is in flight, or `signal` fires. */
  drain(signal: AbortSignal): Promise<void>
  /** Ends Envoy, then the others. `abrupt`: without closing what they have open. */
  stop(options: StopOptions & { readonly abrupt: boolean }): Promise<void>
}

export const createProcessGroup = ({ env, log, envoyAdmin, onReady }: ProcessGroupDeps): ProcessGroup => {
  /** Admin and gateways, in the order of their start. The first ingests the journals of all. */
  const services: Managed[] = []
  let envoy: Managed | undefined

  /** Names the process that must not outlive the supervisor. */
  const reportEnvoy = (service: Managed, pid = envoy?.child?.pid) => {
    if (pid !== undefined) send(service.child, { kind: 'envoy', pid })
  }

  return {
    get all() {
      return envoy === undefined ? services : [...services, envoy]
    },
    startService: (name, kind, start) => {
      const service = manage(
        nodeKind(name, {
          start,
          spawn: () => forkProcess(env, kind),
          onReady: (report) => {
            onReady(report)
            reportEnvoy(service)
          },
        }),
        { log, clock: steadyClock },
      )
      services.push(service)
    },
    startEnvoy: (options, onSpawn) => {
      envoy = manage(envoyKind({ ...options, adminSocket: envoyAdmin }), {
        ...{ log, clock: steadyClock },
        onSpawn: ({ pid }) => {
          onSpawn()
          for (const service of services) reportEnvoy(service, pid)
        },
      })
    },
    applySettings: async (settings) => {
      await Promise.all(services.map(({ child }) => applySettings(child, settings)))
    },
    failed: () => checkComponents(services[0]?.child),
    drain: async (signal) => {
      // The admin process drains its own listener, at the same time as Envoy.
      for (const { child } of services) send(child, { kind: 'drain' })
      if (envoy?.child && !signal.aborted) await drainEnvoy(envoyAdmin, signal)
    },
    stop: async ({ abrupt, ...options }) => {
      const close = (service: Managed | undefined) =>
        service?.stop((child) => (abrupt ? child.kill('SIGKILL') : send(child, { kind: 'stop' })), options)
      await envoy?.stop((child) => child.kill('SIGTERM'), options)
      const [ingesting, ...others] = services
      await Promise.all(others.map(close))
      await close(ingesting)
    },
  }
}
