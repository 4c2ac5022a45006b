/** Settings that change while the service runs: Envoy has them first, since it may refuse, then the processes. */

import { dirname } from 'node:path'
import { createKeyedMutex } from '../common/keyed-mutex.ts'
import type { Log } from '../common/log.ts'
import { liveChanges } from '../config/reloadable.ts'
import { variableOf } from '../config/schema.ts'
import { type Config, loadConfig } from '../config.ts'
import type { BootstrapOptions } from '../control-plane/options.ts'
import type { Control } from '../control-plane/xds-server.ts'
import { removeTrustBundles } from '../egress/trust-bundle.ts'
import type { AcceptedSettings } from './messages.ts'
import { fingerprint, watchFiles } from './watch-files.ts'

/** Variables of settings that changed. */
export interface Reloaded {
  /** In force. */
  readonly applied: readonly string[]
  /** In force from the next start. */
  readonly waiting: readonly string[]
  readonly warnings: readonly string[]
}

export interface LiveSettings {
  readonly current: Config
  /** `current`, for a process that begins with it. */
  readonly accepted: AcceptedSettings
  /**
   * Reads the configuration file, and the files that it names, anew. Resolves when Envoy and all processes go by what
   * they hold. Rejects with ConfigError (every issue), or with what Envoy refused: then all is as it was.
   */
  reload(): Promise<Reloaded>
  close(): void
}

export interface LiveSettingsDeps {
  readonly control: Control
  /** What Envoy's configuration is made from; rejects with ConfigError. */
  readonly envoyOptions: (config: Config) => Promise<BootstrapOptions>
  /** Resolves when every process goes by these. */
  readonly notify: (settings: AcceptedSettings) => Promise<void>
  readonly env: NodeJS.ProcessEnv
  readonly configFile: string | undefined
  readonly log: Log
}

/** The files that settings name, as they are now: to be called before they are read. */
export const lookAtFiles = ({ tls, egress }: Config): Promise<string> =>
  fingerprint([tls?.certificate, tls?.key, egress.ca].filter((path) => path !== undefined))

/**
 * Begins with `config`, of which Envoy has `trustBundle`, from files that were those of `files`. Certificates and
 * authorities are looked at all the time, the configuration file when asked.
 */
export const createLiveSettings = (
  first: { readonly config: Config; readonly trustBundle: string; readonly files: string },
  deps: LiveSettingsDeps,
): LiveSettings => {
  const { control, env, configFile: file, log } = deps
  const { baseDir: cwd } = first.config
  const runExclusive = createKeyedMutex()
  let { config: current, trustBundle, files } = first
  const accepted = (): AcceptedSettings => ({ content: current.file.reveal(), trustBundle })

  const take = async (next: Config): Promise<void> => {
    // A file that changes while it is read is another one at the next look.
    const looked = await lookAtFiles(next)
    const options = await deps.envoyOptions(next)
    await control.change(({ identities }) => ({ ...options, ...(identities ? { identities } : {}) }))
    // A process that is born while the others are told begins with what Envoy has.
    current = next
    trustBundle = options.egress.trustBundle
    files = looked
    await deps.notify(accepted())
    await removeTrustBundles(dirname(trustBundle), control.namesFile).catch((error: unknown) =>
      log.warn(`old trust bundles are not removed: ${String(error)}`),
    )
  }

  const reload = async (): Promise<Reloaded> => {
    const asked = loadConfig(env, { file, cwd })
    const { content, applied, waiting } = liveChanges(current.file.reveal(), asked.file.reveal(), env)
    await take(loadConfig(env, { file, cwd, content }))
    const result = {
      applied: applied.map(variableOf),
      waiting: waiting.map(variableOf),
      warnings: asked.warnings,
    }
    log.info(result, 'settings are applied')
    return result
  }

  const renew = async () => {
    await runExclusive('', () => take(current))
    log.info('certificates are read again')
  }
  /** Files are often written one after the other, and Envoy may be away: what is not applied is tried again. */
  const watching = watchFiles({
    now: () => lookAtFiles(current),
    applied: () => files,
    take: renew,
    onRejected: (error) => log.warn(`changed certificates are not applied: ${String(error)}`),
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
