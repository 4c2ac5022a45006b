import { setTimeout as delay } from 'node:timers/promises'
import { Gauge, type Registry } from '@prometheus-io/client'
import type { Clock } from '../common/clock.ts'
import type { Log } from '../common/log.ts'
import { type RowsDeps, verifyRows } from './verify-rows.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** After a start, when load is lower. */
const FIRST_MS = 5 * 60_000
/** Between two batches: verification takes at most a quarter of the process's time. */
const PAUSE_MS = 10

/** Verifies audit rows once a day, and logs the head of each chain once an hour. */
export interface RowMonitor {
  /** Both run until stopped. Does not keep the process alive. */
  start(): void
  stop(): Promise<void>
  /** Verifies all rows now; logs each journal that does not verify. */
  verify(): Promise<void>
  /** Logs a line for each journal: an external copy with which `audit verify --rows --head` finds truncation. */
  printHeads(): Promise<void>
  /** Journals whose rows failed the last verification. */
  readonly broken: number
}

export const createRowMonitor = ({
  journalMac,
  logs,
  clock,
  log,
  registry,
}: RowsDeps & { readonly clock: Clock; readonly log: Log; readonly registry: Registry }): RowMonitor => {
  let broken = 0
  const stopping = new AbortController()
  const { signal } = stopping
  const verified = new Gauge({
    name: 'sidevault_audit_rows_verified_timestamp_seconds',
    help: 'Time of the last verification of audit rows, in seconds since 1970.',
    registers: [registry],
  })
  const failed = new Gauge({
    name: 'sidevault_audit_rows_broken_journals',
    help: 'Journals whose rows failed the last verification.',
    registers: [registry],
  })

  const verify = async (): Promise<void> => {
    const reports = await verifyRows({ journalMac, logs }, { pauseMs: PAUSE_MS, signal })
    const issues = reports.filter(({ issue }) => issue !== undefined)
    for (const { name, issue } of issues)
      log.error({ journal: name, ...issue }, 'audit rows do not verify; run "sidevault audit verify --rows"')
    broken = issues.length
    failed.set(broken)
    verified.set(clock.now() / 1000)
  }

  const printHeads = async (): Promise<void> => {
    for (const journal of await logs.journals()) {
      const position = await logs.position(journal)
      if (position !== undefined) log.info({ journal, ...position }, 'head of the audit chain')
    }
  }

  const repeat = async (firstMs: number, everyMs: number, work: () => Promise<void>): Promise<void> => {
    const wait = (ms: number) => delay(ms, true, { ref: false, signal }).catch(() => false)
    for (let going = await wait(firstMs); going; going = await wait(everyMs))
      await work().catch((err: unknown) => {
        if (!signal.aborted) log.error({ err }, 'audit rows could not be read; retrying')
      })
  }

  let running: Promise<unknown> | undefined
  return {
    start: () => {
      running ??= Promise.all([repeat(FIRST_MS, DAY_MS, verify), repeat(HOUR_MS, HOUR_MS, printHeads)])
    },
    stop: async () => {
      stopping.abort()
      await running
    },
    verify,
    printHeads,
    get broken() {
      return broken
    },
  }
}
