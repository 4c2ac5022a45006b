import { Worker } from 'node:worker_threads'
import type { Issue } from '../../kernel/check/issues.ts'
import type { PluginSummary } from './summary.ts'

export interface InspectRequest {
  readonly plugins: readonly string[]
  readonly pluginsDir: string
  readonly bases: readonly string[]
  readonly configs: Readonly<Record<string, unknown>>
  /** Whether configuration of plugins that are not loaded is an issue. */
  readonly strict: boolean
}

export interface Inspection {
  readonly plugins: readonly PluginSummary[]
  readonly issues: readonly Issue[]
}

export type InspectWord =
  | { readonly kind: 'progress'; readonly place?: string }
  | ({ readonly kind: 'done' } & Inspection)

/** Code of a plugin only declares; what has not returned by then never will. */
const CODE_LIMIT_MS = 12_000

/**
 * What the plugins bring and what is wrong with them, as a start of the service would find it; nothing is started. Never
 * rejects for what a plugin does.
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
    worker.on('message', (word: InspectWord) => {
      clearTimeout(limit)
      if (word.kind === 'done') return end(word)
      if (word.place === undefined) return
      place = word.place
      limit = setTimeout(
        () =>
          rejected(
            `its code did not return within ${CODE_LIMIT_MS / 1000} s.`,
            'Look for a loop without end; repair the plugin, or remove it from the list.',
          ),
        CODE_LIMIT_MS,
      )
    })
    const threw = 'Repair the plugin, or remove it from the list.'
    worker.on('error', (error) => rejected(`it threw outside of any call: ${error.message}.`, threw))
    worker.on('exit', () => rejected('its code ends the process.', 'A plugin lives within the service.'))
  })
