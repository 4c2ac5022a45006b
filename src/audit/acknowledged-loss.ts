import { operatorRecord } from '../access/audit-record.ts'
import { type ChainLine, firstSeqOf } from './line.ts'
import type { AuditRecord } from './types.ts'

/** First word of its message: the number of the first lost record. */
const FIRST_LOST = /^Records from (\d+) on are lost/

/** The record by which an operator acknowledges lost records of a journal. No tenant's log shows it. */
export const lossRecord = (journal: string, message: string, traceId: string, at: number): AuditRecord =>
  operatorRecord('', { entity: 'journal', id: journal, operation: 'acknowledge_loss', message }, traceId, at)

const isLoss = (record: AuditRecord): boolean =>
  record.tenant_id === '' && record.entity_type === 'journal' && record.operation === 'acknowledge_loss'

export const isLossLine = ({ records }: ChainLine): boolean => records.some(isLoss)

/**
 * For a record that acknowledges a loss: the number of the record that the chain continues after; 0: it starts anew.
 */
export const lossContinuesAfter = (record: AuditRecord): number | undefined => {
  const first = isLoss(record) ? FIRST_LOST.exec(record.message)?.[1] : undefined
  return first === undefined ? undefined : Number(first) - 1
}

/** Sequence numbers have no gap; after an acknowledged loss they continue where the lost ones ended. */
export const follows = (line: ChainLine, seq: number): boolean =>
  firstSeqOf(line) === seq + 1 || (line.seq > seq && isLossLine(line))
