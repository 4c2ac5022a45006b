import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { isObject } from '../common/json.ts'
import { unixHttp } from '../common/unix-http.ts'
import { loadConfig } from '../config.ts'
import { ROLES, runDirOf, socketsIn } from '../supervisor/messages.ts'
import { StartError } from '../supervisor/start-error.ts'
import { configOption, print } from './run-command.ts'

/** Envoy may just be starting. */
const TIMEOUT_MS = 60_000

const reloadOne = async (socket: string): Promise<void> => {
  const response = await unixHttp(socket, 'POST', '/reload', { timeoutMs: TIMEOUT_MS }).catch(() => undefined)
  if (response === undefined)
    throw new StartError(
      'The service does not answer, so it is not known whether anything was changed. Look at its log, then repeat this.',
    )
  const value: unknown = JSON.parse(response.body)
  if (response.status !== 200 || !isObject(value))
    throw new StartError(`Nothing was changed.${isObject(value) ? ` ${value.detail}` : ''}`, {
      configuration: true,
    })
  const { applied, waiting, warnings } = value as Record<
    'applied' | 'waiting' | 'warnings',
    readonly string[]
  >
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`)
  for (const name of applied) print(`in force                  ${name}`)
  for (const name of waiting) print(`from the next start on    ${name}`)
  print(
    applied.length + waiting.length > 0
      ? 'Settings are applied.'
      : 'No setting changed; certificates were read again.',
  )
}

/** `sidevault reload`: for the operator of a running service, on its machine. */
export const addReloadCommand = (root: Command): void => {
  root
    .command('reload')
    .description('apply the configuration file and certificates to a running service, without a restart')
    .addOption(configOption())
    .action(async ({ config }: { config?: string }) => {
      // Faults of the new configuration are told here, before the service is asked.
      const { dataDir } = loadConfig(process.env, { file: config })
      const sockets = ROLES.map((role) => socketsIn(runDirOf(role), 1).control).filter((path) =>
        existsSync(join(dataDir, path)),
      )
      if (sockets.length === 0)
        throw new StartError(
          `No service runs on the data directory "${dataDir}". Start it, or set SIDEVAULT_DATA_DIR.`,
        )
      // Paths of sockets are short; that of the data directory may not be.
      process.chdir(dataDir)
      for (const socket of sockets) await reloadOne(socket)
    })
}
