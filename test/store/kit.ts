import { randomBytes, randomUUID } from 'node:crypto'
import { pino } from 'pino'
import type { Log } from '../../src/common/log.ts'
import type { LogRow } from '../../src/store/logs/types.ts'
import type { NewToken } from '../../src/store/tokens/types.ts'

export const silent: Log = pino({ level: 'silent' })

/** 2033-05-18T03:33:20Z: far from any real clock, so that nothing passes by using the wrong one. */
export const NOW = 2_000_000_000_000

/** A token as the vault hands it over, with random sealed bytes. */
export const aToken = (changes: Partial<NewToken> = {}): NewToken => ({
  tenant_id: 'tenant-a',
  id: randomUUID(),
  type: 'card',
  container: '/pci/high/',
  // Not in the format of seals: such would name a key.
  sealed: Buffer.concat([Buffer.of(0), randomBytes(119)]),
  ephemeral: null,
  ephemeral_until: null,
  metadata: null,
  fingerprint: null,
  egress: null,
  masked: null,
  expires_at: null,
  created_by: 'application-1',
  created_at: NOW,
  terms: [],
  deduplicate: false,
  fallbackIds: [],
  ...changes,
})

/** A record of a journal as the ingest hands it over, a millisecond after the one before. */
export const aLog = (journal_seq: number, changes: Partial<LogRow> = {}): LogRow => ({
  tenant_id: 'tenant-a',
  entity_type: 'card',
  entity_id: 'token-1',
  operation: 'read',
  actor_id: null,
  actor_type: null,
  message: 'Card retrieved',
  trace_id: 'trace',
  created_at: NOW + journal_seq,
  journal: 'admin',
  journal_seq,
  hash: `hash-${journal_seq}`,
  ...changes,
})
