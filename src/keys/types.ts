import type { KeyRow } from '../store/types.ts'

/** What a seal is bound to; opening under any other binding fails (docs/security-model.md, "Encryption"). */
export interface SealContext {
  readonly tenantId: string
  readonly tokenId: string
  readonly type: string
  readonly version: number
  readonly part: 'sealed' | 'ephemeral'
  /** What else must be as it was when the value is opened, in order. */
  readonly also?: readonly string[]
}

/** The keys of one tenant, unwrapped. All methods are synchronous once the ring is loaded. */
export interface TenantKeys {
  /** AES-256-GCM under the newest data key: format byte, key version, salt/nonce, ciphertext, tag. */
  seal(plaintext: Buffer, context: SealContext): Buffer
  /** Throws one indistinguishable error for every failure. */
  open(sealed: Buffer, context: SealContext): Buffer
  /** True when a value is sealed, or a MAC made, under the newest data key. */
  isCurrent(sealed: Buffer): boolean
  /** HMAC-SHA256 over the parts, under a key of its own of the newest data key: format byte, key version, MAC. */
  mac(...parts: readonly string[]): Buffer
  /** True when `mac` was made over exactly these parts, under a data key that is still held. */
  verifies(mac: Buffer, ...parts: readonly string[]): boolean
  /** Base58 of HMAC-SHA256 over type and value: equal values of a type are equal, across tenants nothing is. */
  fingerprint(type: string, value: string): string
  /** 16-byte blind index term of a search index value. */
  term(value: string): Buffer
}

export interface Keys {
  /**
   * Loads (and caches, bounded) a tenant's ring. Unknown tenants: `tenant_not_found`. A change of keys in any process (rotated,
   * destroyed with their tenant) holds for the next call: everything cached is forgotten then. `opening` are sealed
   * values that are about to be opened: when one names a key version that the cached ring lacks, the ring is read again first.
   */
  tenant(tenantId: string, opening?: readonly Buffer[]): Promise<TenantKeys>
  /** Fresh wrapped keys for a new tenant, to be stored with it. */
  newTenantKeys(tenantId: string, now: number): Promise<readonly KeyRow[]>
  /** A fresh wrapped data key, to be stored as this version of the tenant's. */
  newDataKey(tenantId: string, version: number, now: number): Promise<KeyRow>
  /** A keyed digest for the service's own use, hex: API keys (`api-key`), the audit chain (`audit`). */
  mac(purpose: 'api-key' | 'audit', data: string | Buffer): string
}
