import type { ChainLine } from './line.ts'
import type { AuditRecord } from './types.ts'

/** What its message says first: the number of the first record that is lost. */
const FIRST_LOST = /^Records from (\d+) on are lost/

/** The record by which an operator accepts that records of a journal are lost. No tenant's log shows it. */
export const acceptance = (
  journal: string,
  said: Pick<AuditRecord, 'message' | 'trace_id' | 'created_at'>,
): AuditRecord => ({
  tenant_id: '',
  entity_type: 'journal',
  entity_id: journal,
  operation: 'accept_loss',
  actor_id: null,
  actor_type: 'operator',
  ...said,
})

const accepts = (record: AuditRecord): boolean =>
  record.tenant_id === '' && record.entity_type === 'journal' && record.operation === 'accept_loss'

export const isAcceptance = ({ record }: ChainLine): boolean => accepts(record)

/** Of a record that accepts a loss: the number of the record that the chain goes on behind; 0: it begins anew. */
export const acceptedBehind = (record: AuditRecord): number | undefined => {
  const first = accepts(record) ? FIRST_LOST.exec(record.message)?.[1] : undefined
  return first === undefined ? undefined : Number(first) - 1
}

/** Sequence numbers run on without a gap; behind accepted losses they go on where the lost ones ended. */
export const follows = (line: ChainLine, seq: number): boolean =>
  line.seq === seq + 1 || (line.seq > seq && isAcceptance(line))
