import { dirname } from 'node:path'
import type { Command } from 'commander'
import { unixHttp } from '../common/unix-http.ts'
import type { Config } from '../config.ts'
import { ROLES, type ServiceDescription, socketsIn } from '../supervisor/messages.ts'
import { getReadiness } from '../supervisor/probe.ts'
import { configOption, jsonOption, operate, print, printJson } from './run-command.ts'
import { callService, findSockets, resultOf } from './running-service.ts'

/** A member of `components` of `/readyz`. */
interface Component {
  readonly name: string
  readonly status: string
  readonly missing?: readonly string[]
  readonly since?: string
  readonly detail?: string
}

interface ServiceStatus extends ServiceDescription {
  readonly ready: boolean
  /** Empty when `/readyz` does not respond. */
  readonly components: readonly Component[]
}

/** A check of a component takes up to two seconds. */
const TIMEOUT_MS = 10_000

/** Its start is complete, and its `/readyz` has status 200. */
const statusOf = async (control: string): Promise<ServiceStatus> => {
  const response = await callService(control, 'GET', '/service', { timeoutMs: TIMEOUT_MS })
  const service = resultOf(response) as ServiceDescription
  const { ops } = service.listeners
  const { api } = socketsIn(dirname(control), 1)
  const readyz = await (ops === undefined
    ? unixHttp(api, 'GET', '/readyz', { timeoutMs: TIMEOUT_MS }).catch(() => undefined)
    : getReadiness(ops, TIMEOUT_MS))
  const { components = [] } = JSON.parse(readyz?.body ?? '{}') as { components?: readonly Component[] }
  return { ...service, ready: service.state === 'ready' && readyz?.status === 200, components }
}

const LISTENERS = [
  ['edge', 'listens on'],
  ['management_api', 'management API'],
  ['ops', 'operations'],
  ['forward_proxy', 'forward proxy'],
] as const

const printService = ({ role, state, version, pid, ready, listeners, components }: ServiceStatus): void => {
  const shown = state === 'ready' && !ready ? 'not ready' : state
  print(`${shown}: role ${role}, version ${version}, pid ${pid}`)
  for (const [name, title] of LISTENERS)
    if (listeners[name] !== undefined) print(`  ${title.padEnd(16)}${listeners[name]}`)
  for (const { name, status, missing = [], since, detail } of components)
    print(
      `  ${status.padEnd(10)}${name}${missing.length > 0 ? `, without ${missing.join(', ')}` : ''}${since ? `, since ${since}` : ''}${detail ? `: ${detail}` : ''}`,
    )
  if (components.length === 0) print('  /readyz does not respond')
}

/** The services on the data directory. Changes the working directory to it. */
export const servicesOn = async ({ dataDir }: Config): Promise<readonly ServiceStatus[]> => {
  const sockets = await findSockets(dataDir, ROLES, 'control')
  return Promise.all(sockets.map(statusOf))
}

const show = async (config: Config, json: boolean): Promise<boolean> => {
  const { dataDir } = config
  const services = await servicesOn(config)
  const ready = services.length > 0 && services.every((service) => service.ready)
  if (json) printJson({ ready, data_dir: dataDir, services })
  else for (const service of services) printService(service)
  if (services.length === 0)
    process.stderr.write(`sidevault: No service runs on the data directory "${dataDir}".\n`)
  return ready
}

/** `sidevault status`: for the operator of a service, on its machine. */
export const addStatusCommand = (root: Command): void => {
  root
    .command('status')
    .description(
      'print whether a service runs on the data directory, where it listens, and the state of its components; exit code 1 unless it is ready',
    )
    .addOption(jsonOption())
    .addOption(configOption())
    .action(({ config, json }: { config?: string; json: boolean }) =>
      operate(config, (settings) => show(settings, json)),
    )
}
