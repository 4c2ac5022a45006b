import type { Command } from 'commander'
import { isObject } from '../common/json.ts'
import { loadConfig } from '../config.ts'
import { ROLES } from '../supervisor/messages.ts'
import { StartError } from '../supervisor/start-error.ts'
import { configOption, print } from './run-command.ts'
import { callService, servedSockets } from './running-service.ts'

/** Envoy may just be starting. */
const TIMEOUT_MS = 60_000

const reloadOne = async (socket: string): Promise<void> => {
  const response = await callService(socket, 'POST', '/reload', {
    timeoutMs: TIMEOUT_MS,
    unanswered:
      'The service did not respond. Settings may or may not have changed. Check its log, then retry.',
  })
  const value: unknown = JSON.parse(response.body)
  if (response.status !== 200 || !isObject(value))
    throw new StartError(`Nothing was changed.${isObject(value) ? ` ${value.detail}` : ''}`, {
      configuration: response.status !== 500,
    })
  const { applied, waiting, warnings } = value as Record<
    'applied' | 'waiting' | 'warnings',
    readonly string[]
  >
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`)
  for (const name of applied) print(`applied                   ${name}`)
  for (const name of waiting) print(`needs a restart           ${name}`)
  print(
    applied.length + waiting.length > 0
      ? 'Settings applied.'
      : 'No setting changed. Certificates were reloaded.',
  )
}

/** `sidevault reload`: for the operator of a running service, on its machine. */
export const addReloadCommand = (root: Command): void => {
  root
    .command('reload')
    .description('apply the configuration file and certificates to a running service, without a restart')
    .addOption(configOption())
    .action(async ({ config }: { config?: string }) => {
      // Reports configuration errors before the service is called.
      const { dataDir } = loadConfig(process.env, { file: config })
      const sockets = await servedSockets(dataDir, ROLES, 'control')
      for (const socket of sockets) await reloadOne(socket)
    })
}
