import { stat, statfs } from 'node:fs/promises'
import { Gauge, type Registry } from 'prom-client'
import type { Ingest } from '../audit/ingest.ts'
import { createRetention, type RetentionDeps, type RetentionLimits } from '../audit/retention.ts'
import type { RowMonitor } from '../audit/row-monitor.ts'
import { listSegments } from '../audit/segments.ts'
import type { Config } from '../config.ts'
import { journalDirectory } from './replica.ts'

const DAY_MS = 86_400_000
const MIB = 2 ** 20
/** How many bytes of journals are kept where nothing else is said: at most this, and this part of the disk. */
const RETAINED = { bytes: 10_240 * MIB, part: 1 / 4 } as const
/** Less than both of it free is too little to wait. */
const LOW = { bytes: 10_240 * MIB, part: 1 / 10 } as const
/** Records reach the store within a fifth of a second. */
const LATE_MS = 60_000

/** What one process of a machine does for the audit journals of all: brings them into the store, then lets files go. */
export interface AuditMaintenance {
  start(): void
  /** Brings everything that was written before the call into the store; how many records that were. */
  catchUp(): Promise<number>
  /** Waits for the work at hand, and brings what was written until now into the store. */
  stop(): Promise<void>
  take(config: Config): Promise<void>
  /** `degraded`: a journal or its rows are broken, or records wait for the store for longer than a minute. */
  health(): Promise<'ok' | 'degraded'>
  /** `degraded`, with a log line: the disk of the data directory is nearly full. When it is full, nothing is disclosed. */
  disk(): Promise<'ok' | 'degraded'>
}

interface Disk {
  readonly bytes: number
  readonly free: number
}

const diskOf = async (dataDir: string): Promise<Disk> => {
  const { bsize, blocks, bavail } = await statfs(dataDir)
  return { bytes: bsize * blocks, free: bsize * bavail }
}

export const isLow = ({ bytes, free }: Disk): boolean => free < Math.min(LOW.bytes, bytes * LOW.part)

/** What the settings say; without a limit of bytes, what is sensible on this disk. */
export const keepOf = (
  { auditKeep: { days, mb } }: Pick<Config, 'auditKeep'>,
  disk: Disk,
): RetentionLimits => {
  const forever = days === 'forever'
  const suppressed = forever ? Number.POSITIVE_INFINITY : Math.min(RETAINED.bytes, disk.bytes * RETAINED.part)
  return {
    ageMs: forever ? Number.POSITIVE_INFINITY : days * DAY_MS,
    bytes: mb === undefined ? suppressed : mb * MIB,
  }
}

const journalFiles = async (config: Config): Promise<{ readonly files: number; readonly bytes: number }> => {
  const paths = [...(await listSegments(journalDirectory(config))).values()].flat()
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
        this.set(await value())
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
  const keep = async (of: Config) => keepOf(of, await diskOf(of.dataDir))
  const directory = journalDirectory(config)
  const retention = createRetention(deps, { directory, limits: await keep(config), onBroken })
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
        log.warn({ err }, 'the last audit records wait in the journals for the next start')
      })
    },
    disk: async () => {
      const disk = await diskOf(config.dataDir)
      if (isLow(disk) && !low)
        log.warn(
          { ...disk, dataDir: config.dataDir },
          'the disk of the data directory is nearly full: when it is, every call is refused',
        )
      low = isLow(disk)
      return low ? 'degraded' : 'ok'
    },
    take: async (next) => retention.take(await keep(next)),
    health: async () =>
      ingest.issues + retention.issues + (rows?.broken ?? 0) > 0 || ingest.behind() > LATE_MS
        ? 'degraded'
        : 'ok',
  }
}
