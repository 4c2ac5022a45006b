import { Worker } from 'node:worker_threads'
import type { Issue } from '../../kernel/check/issues.ts'
import type { PluginSummary } from './summary.ts'

export interface InspectRequest {
  readonly plugins: readonly string[]
  readonly pluginsDir: string
  readonly bases: readonly string[]
  readonly configs: Readonly<Record<string, unknown>>
  /** If true, configuration of plugins that are not loaded is an issue. */
  readonly strict: boolean
}

export interface Inspection {
  readonly plugins: readonly PluginSummary[]
  readonly issues: readonly Issue[]
}

export type InspectMessage =
  | { readonly kind: 'progress'; readonly place?: string }
  | ({ readonly kind: 'done' } & Inspection)

/** Time limit of a plugin's code, ms. It only declares. */
const CODE_LIMIT_MS = 12_000

/**
 * The contributions and issues of plugins, as at a start of the service. Starts nothing, and does not reject for errors
 * of plugins.
 */
export const inspect = (request: InspectRequest): Promise<Inspection> =>
  new Promise((resolve) => {
    const worker = new Worker(new URL('./inspect-worker.ts', import.meta.url), {
      workerData: request,
      execArgv: [],
    })
    let place = 'plugins'
    let limit: NodeJS.Timeout | undefined
    const end = (inspection: Inspection) => {
      clearTimeout(limit)
      resolve(inspection)
      worker.terminate()
    }
    const rejected = (problem: string, fix: string) =>
      end({ plugins: [], issues: [{ location: place, message: problem, fix }] })
    worker.on('message', (message: InspectMessage) => {
      clearTimeout(limit)
      if (message.kind === 'done') return end(message)
      if (message.place === undefined) return
      place = message.place
      limit = setTimeout(
        () =>
          rejected(
            `its code did not return within ${CODE_LIMIT_MS / 1000} s.`,
            'Look for an endless loop. Repair the plugin, or remove it from the list.',
          ),
        CODE_LIMIT_MS,
      )
    })
    const threw = 'Repair the plugin, or remove it from the list.'
    worker.on('error', (error) => rejected(`it threw outside of any call: ${error.message}.`, threw))
    worker.on('exit', () =>
      rejected('its code ends the process.', 'A plugin must not end the process of the service.'),
    )
  })
