import { randomBytes, randomUUID } from 'node:crypto'
import { pino } from 'pino'
import type { Log } from '../../src/common/log.ts'
import type { NewToken } from '../../src/store/types.ts'

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
  expires_at: null,
  created_by: 'application-1',
  created_at: NOW,
  terms: [],
  deduplicate: false,
  fallbackIds: [],
  ...changes,
})
