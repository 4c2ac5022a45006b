import { stat } from 'node:fs/promises'
import { Gauge, type Registry } from '@prometheus-io/client'
import type { Ingest } from '../audit/ingest.ts'
import { createRetention, type RetentionDeps } from '../audit/retention.ts'
import type { RowMonitor } from '../audit/row-monitor.ts'
import { listSegments } from '../audit/segments.ts'
import type { Config } from '../config.ts'
import { diskOf, isLow, retentionLimitsOf } from './data-disk.ts'
import { journalDirectory } from './replica.ts'

/** Maximum ingest lag, ms. Records normally reach the store within 200 ms. */
const MAX_LAG_MS = 60_000

/** Maintains the audit journals of all processes of a machine: ingests them into the store, then applies retention. */
export interface AuditMaintenance {
  start(): void
  /** Ingests everything written before the call. Resolves with the number of records. */
  catchUp(): Promise<number>
  /** Stops after the current work and ingests everything written so far. */
  stop(): Promise<void>
  reload(config: Config): Promise<void>
  /** `degraded`: a journal or its rows are broken, or records wait for ingest for more than a minute. */
  health(): Promise<'ok' | 'degraded'>
  /**
   * `degraded`, with a log line: the disk of the data directory is nearly full. When it is full, calls are rejected.
   */
  disk(): Promise<'ok' | 'degraded'>
}

const journalFiles = async (config: Config): Promise<{ readonly files: number; readonly bytes: number }> => {
  const paths = [...listSegments(journalDirectory(config)).values()].flat()
  const sizes = await Promise.all(paths.map(async ({ path }) => (await stat(path)).size))
  return { files: sizes.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

const measure = (registry: Registry, config: Config, ingest: Ingest): void => {
  const gauge = (name: string, help: string, value: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        try {
          this.set(await value())
        } catch {
          // One unreadable file must not hide all other metrics.
          this.set(Number.NaN)
        }
      },
    })
  gauge('sidevault_audit_journal_bytes', 'Bytes of all files of the audit journals.', async () => {
    return (await journalFiles(config)).bytes
  })
  gauge('sidevault_audit_journal_files', 'Files of the audit journals.', async () => {
    return (await journalFiles(config)).files
  })
  gauge(
    'sidevault_audit_backlog_seconds',
    'Longest time that an audit record has waited to be stored.',
    () => ingest.behind() / 1000,
  )
  gauge('sidevault_data_disk_free_bytes', 'Bytes free on the disk of the data directory.', async () => {
    return (await diskOf(config.dataDir)).free
  })
}

export const createAuditMaintenance = async (
  deps: Omit<RetentionDeps, 'ingest'> & {
    readonly ingest: Ingest
    readonly registry: Registry
    /** Absent: another process verifies the rows. */
    readonly rows?: RowMonitor
  },
  config: Config,
  onBroken: () => void,
): Promise<AuditMaintenance> => {
  const { ingest, registry, log, rows } = deps
  const limitsOf = async (settings: Config) => retentionLimitsOf(settings, await diskOf(settings.dataDir))
  const directory = journalDirectory(config)
  const retention = createRetention(deps, { directory, limits: await limitsOf(config), onBroken })
  let low = false
  return {
    catchUp: () => ingest.catchUp(),
    start: () => {
      measure(registry, config, ingest)
      ingest.start()
      retention.start()
      rows?.start()
    },
    stop: async () => {
      await rows?.stop()
      await retention.stop()
      await ingest.stop()
      await ingest.catchUp().catch((err: unknown) => {
        log.warn({ err }, 'the last audit records were not ingested; the next start ingests them')
      })
    },
    disk: async () => {
      const disk = await diskOf(config.dataDir)
      if (isLow(disk) && !low)
        log.warn(
          { ...disk, dataDir: config.dataDir },
          'the disk of the data directory is nearly full; when it is full, every call is rejected',
        )
      low = isLow(disk)
      return low ? 'degraded' : 'ok'
    },
    reload: async (next) => retention.apply(await limitsOf(next)),
    health: async () =>
      ingest.issues + retention.issues + (rows?.broken ?? 0) > 0 || ingest.behind() > MAX_LAG_MS
        ? 'degraded'
        : 'ok',
  }
}
