/**
 * Settings that change while the service runs. Applied to Envoy first, which may reject them, then to the processes.
 */

import { dirname } from 'node:path'
import { createKeyedMutex } from '../common/keyed-mutex.ts'
import type { Log } from '../common/log.ts'
import { liveChanges } from '../config/reloadable.ts'
import { variableOf } from '../config/schema.ts'
import { type Config, loadConfig } from '../config.ts'
import type { BootstrapOptions } from '../control-plane/options.ts'
import type { XdsServer } from '../control-plane/xds-server.ts'
import { removeTrustBundles } from '../egress/trust-bundle.ts'
import type { InUse } from './envoy-options.ts'
import type { AcceptedSettings } from './messages.ts'
import { fingerprint, watchFiles } from './watch-files.ts'

/** Variables of settings that changed. */
export interface Reloaded {
  /** Effective now. */
  readonly applied: readonly string[]
  /** Effective from the next start. */
  readonly waiting: readonly string[]
  readonly warnings: readonly string[]
}

export interface LiveSettings {
  readonly current: Config
  /** `current`, for a process that starts. */
  readonly accepted: AcceptedSettings
  /**
   * Reads the configuration file, and the files it names, again. Resolves when Envoy and all processes have applied
   * them. Rejects with ConfigError (all issues), or with Envoy's rejection; then nothing is changed.
   */
  reload(): Promise<Reloaded>
  close(): void
}

/** New options with what gateways have added to those before: certificates of proxies, hosts of the forward proxy. */
const withDiscovered = (next: BootstrapOptions, before: BootstrapOptions): BootstrapOptions => ({
  ...next,
  ...(before.identities ? { identities: before.identities } : {}),
  ...(next.forward && before.forward ? { forward: { ...next.forward, hosts: before.forward.hosts } } : {}),
})

export interface LiveSettingsDeps {
  readonly xds: XdsServer
  /** The options of Envoy's configuration. Rejects with ConfigError. */
  readonly envoyOptions: (config: Config, inUse: InUse) => Promise<BootstrapOptions>
  /** Resolves when every process has applied the settings. */
  readonly notify: (settings: AcceptedSettings) => Promise<void>
  readonly env: NodeJS.ProcessEnv
  readonly configFile: string | undefined
  readonly log: Log
}

/** Fingerprint of the files that settings name. To be called before they are read. */
export const fingerprintOf = ({ tls, egress }: Config): Promise<string> =>
  fingerprint([tls?.certificate, tls?.key, egress.ca].filter((path) => path !== undefined))

/**
 * `first`: the settings at the start, Envoy's trust bundle, and the fingerprint of the files that were read.
 * Certificates and authorities are watched; the configuration file is read by `reload` only.
 */
export const createLiveSettings = (
  first: { readonly config: Config; readonly trustBundle: string; readonly files: string },
  deps: LiveSettingsDeps,
): LiveSettings => {
  const { xds, env, configFile: file, log } = deps
  const { baseDir: cwd } = first.config
  const runExclusive = createKeyedMutex()
  let { config: current, trustBundle, files } = first
  const accepted = (): AcceptedSettings => ({ content: current.file.reveal(), trustBundle })

  /** Resolves with warnings. `egressCa`: see `InUse`. */
  const apply = async (next: Config, egressCa?: string): Promise<readonly string[]> => {
    // Computed before the files are read: a change during the read is detected at the next check.
    const fingerprint = await fingerprintOf(next)
    const warnings: string[] = []
    const options = await deps.envoyOptions(next, {
      egressCa,
      trustBundle,
      warn: (message) => warnings.push(message),
    })
    await xds.change((before) => withDiscovered(options, before))
    // A process that starts during `notify` must start with the settings that Envoy has.
    current = next
    trustBundle = options.egress.trustBundle
    files = fingerprint
    await deps.notify(accepted())
    await removeTrustBundles(dirname(trustBundle), xds.namesFile).catch((error: unknown) =>
      log.warn(`old trust bundles cannot be removed: ${String(error)}`),
    )
    return warnings
  }

  const reload = async (): Promise<Reloaded> => {
    const requested = loadConfig(env, { file, cwd })
    const { content, applied, waiting } = liveChanges(current.file.reveal(), requested.file.reveal(), env)
    const warnings = await apply(loadConfig(env, { file, cwd, content }))
    const result = {
      applied: applied.map(variableOf),
      waiting: waiting.map(variableOf),
      warnings,
    }
    log.info(result, 'settings applied')
    return result
  }

  const renew = async () => {
    // The edge needs its new certificate also when an authority of destinations has expired.
    const warnings = await runExclusive('', () => apply(current, current.egress.ca))
    for (const warning of warnings) log.warn(warning)
    log.info('certificates reloaded')
  }
  /** Retries until applied: files are often written one after the other, and Envoy may be restarting. */
  const watching = watchFiles({
    now: () => fingerprintOf(current),
    applied: () => files,
    apply: renew,
    onRejected: (error) => log.warn(`changed certificates cannot be applied: ${String(error)}`),
  })
  return {
    get current() {
      return current
    },
    get accepted() {
      return accepted()
    },
    reload: () => runExclusive('', reload),
    close: () => watching.close(),
  }
}
