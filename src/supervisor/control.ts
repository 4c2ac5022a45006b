import { writeFile } from 'node:fs/promises'
import { steadyClock, systemClock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { programVersion } from '../common/version.ts'
import type { Config } from '../config.ts'
import { renderBootstrap } from '../control-plane/bootstrap.ts'
import { startXdsServer, type XdsServer } from '../control-plane/xds-server.ts'
import { removeTrustBundles } from '../egress/trust-bundle.ts'
import { baseUrl } from './base-url.ts'
import { ensureDemoCertificate } from './demo-certificate.ts'
import { envoyOptions, type InUse } from './envoy-options.ts'
import type { Listeners } from './listeners.ts'
import {
  createLiveSettings,
  fingerprintOf,
  type LiveSettings,
  type LiveSettingsDeps,
} from './live-settings.ts'
import { type Role, type ServiceDescription, type ServiceState, socketsIn } from './messages.ts'

/** Envoy's configuration: its bootstrap file, the server that it asks, and the settings that both come from. */
export interface Control {
  readonly xds: XdsServer
  readonly settings: LiveSettings
  /** Relative to the data directory. */
  readonly bootstrapFile: string
}

interface ControlDeps extends Pick<LiveSettingsDeps, 'env' | 'configFile' | 'notify'> {
  readonly role: Role
  readonly runDir: string
  readonly listeners: Listeners
  /** True: there is a demo destination. */
  readonly demo: boolean
  /** Handles `POST /reload` of the server's socket. */
  readonly reload: () => Promise<object>
  readonly state: () => ServiceState
  readonly log: Log
}

/** URLs of the listeners for programs of this machine. */
const urlsOf = (
  { edge, listen, api, ops, forward }: Listeners,
  tls: boolean,
): ServiceDescription['listeners'] => ({
  ...(edge && { edge: baseUrl(listen, tls) }),
  ...(api && { management_api: baseUrl(api, tls) }),
  ...(ops && { ops: baseUrl(ops, tls) }),
  ...(forward && { forward_proxy: baseUrl(forward, tls) }),
})

/** Starts the server of Envoy's configuration. Rejects with ConfigError if a file that `config` names is invalid. */
export const startControl = async (config: Config, deps: ControlDeps): Promise<Control> => {
  const { role, runDir, log, env, configFile, notify, reload } = deps
  const { edge, listen, forward, ports: ownPorts } = deps.listeners
  const demoAuthority = deps.demo ? (await ensureDemoCertificate(runDir, Date.now())).authority : undefined
  const optionsOf = (next: Config, inUse?: InUse) =>
    envoyOptions(next, {
      ...{ role, listen, forward, ownPorts, runDir, demoAuthority, inUse },
      now: systemClock.now(),
    })
  const files = await fingerprintOf(config)
  const options = await optionsOf(config)
  const { trustBundle } = options.egress
  await removeTrustBundles(runDir, (path) => path === trustBundle)
  const { envoyAdmin: envoyAdminSocket, control: controlSocket } = socketsIn(runDir, config.workers)
  const bootstrap = renderBootstrap({
    ...{ envoyAdminSocket, controlSocket, memoryBytes: config.envoyMemoryBytes },
    forwards: forward !== undefined,
    console: options.console === true,
  })
  const bootstrapFile = `${runDir}/envoy.json`
  await writeFile(bootstrapFile, JSON.stringify(bootstrap), { mode: 0o600 })
  const service = (): ServiceDescription => ({
    role,
    version: programVersion(),
    pid: process.pid,
    state: deps.state(),
    listeners: urlsOf(deps.listeners, config.tls !== undefined),
  })
  const xds = await startXdsServer(
    { log, clock: steadyClock, reload, service },
    { socketPath: controlSocket, options, edge },
  )
  const settings = createLiveSettings(
    { config, trustBundle, files },
    { xds, envoyOptions: optionsOf, notify, env, configFile, log },
  )
  return { xds, settings, bootstrapFile }
}
