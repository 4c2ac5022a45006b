import type { ChainLine } from './line.ts'
import type { AuditRecord } from './types.ts'

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

export const isAcceptance = ({ record }: ChainLine): boolean =>
  record.tenant_id === '' && record.entity_type === 'journal' && record.operation === 'accept_loss'

/** Sequence numbers run on without a gap; behind accepted losses they go on where the lost ones ended. */
export const follows = (line: ChainLine, seq: number): boolean =>
  line.seq === seq + 1 || (line.seq > seq && isAcceptance(line))
