import { tables } from './0001-tables.ts'
import { resources } from './0002-resources.ts'
import { answers } from './0003-answers.ts'
import { logsOfEntity } from './0004-logs-of-entity.ts'
import { totals } from './0005-totals.ts'
import { answersRunning } from './0006-answers-running.ts'
import { bitmaps } from './0007-bitmaps.ts'
import { logsToken } from './0008-logs-token.ts'
import { macs } from './0009-macs.ts'
import { fingerprintOrder } from './0010-fingerprint-order.ts'
import type { Migration } from './migration.ts'

/** All steps, in order. */
export const migrations: readonly Migration[] = [
  tables,
  resources,
  answers,
  logsOfEntity,
  totals,
  answersRunning,
  bitmaps,
  logsToken,
  macs,
  fingerprintOrder,
]

/** The version of the schema that this program reads and writes. */
export const SCHEMA_VERSION = migrations.length
