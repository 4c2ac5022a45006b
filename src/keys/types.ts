import type { Eventual } from '../common/eventual.ts'
import type { Secret } from '../common/secret.ts'
import type { KeyRow } from '../store/keys/types.ts'

/** Associated data of a sealed value; it can be opened only with the same (docs/security-model.md, "Encryption"). */
export interface SealContext {
  readonly tenantId: string
  readonly tokenId: string
  readonly type: string
  readonly version: number
  readonly part: 'sealed' | 'ephemeral'
  /** Further associated data, in order. */
  readonly also?: readonly string[]
}

/** The keys of one tenant, unwrapped. All methods are synchronous once the ring is loaded. */
export interface TenantKeys {
  /** AES-256-GCM under the newest data key: format byte, key version, salt/nonce, ciphertext, tag. */
  seal(plaintext: Buffer, context: SealContext): Buffer
  /** Throws one indistinguishable error for every failure. */
  open(sealed: Buffer, context: SealContext): Buffer
  /** True if the value is sealed, or the MAC computed, under the newest data key. */
  isCurrent(sealed: Buffer): boolean
  /** HMAC-SHA256 over the parts, under a key derived from the newest data key: format byte, key version, MAC. */
  mac(...parts: readonly string[]): Buffer
  /** True if `mac` was computed over exactly these parts, under a data key of the ring. */
  verifies(mac: Buffer, ...parts: readonly string[]): boolean
  /** Base58 of HMAC-SHA256 over type and value: equal for equal values of a type and tenant only. */
  fingerprint(type: string, value: string): string
  /** 16-byte blind index term of a search index value. */
  term(value: string): Buffer
}

/** The private key (P-256) of the forward proxy's authority. */
type ServicePurpose = 'forward-ca'

export interface ServiceKey {
  readonly version: number
  readonly key: Secret<Buffer>
  /** ms since the epoch. */
  readonly createdAt: number
}

export interface Keys {
  /** Rejects when the root key of this process does not unwrap the stored keys any more. */
  health(): Promise<void>
  /**
   * The ring of a tenant, from a cache. Rejects with `tenant_not_found` for unknown tenants. A key change in any
   * process (rotation, deletion of a tenant) clears the cache before the next call. `opening`: sealed values to be
   * opened; if one names a key version that the cached ring lacks, the ring is reloaded first.
   */
  tenant(tenantId: string, opening?: readonly Buffer[]): Eventual<TenantKeys>
  /** New wrapped keys for a new tenant, to be stored with it. */
  newTenantKeys(tenantId: string, now: number): Promise<readonly KeyRow[]>
  /** A new data key, wrapped by the root key and for each delegation, to be stored as this version of the tenant's. */
  newDataKey(tenantId: string, version: number, now: number): Promise<readonly KeyRow[]>
  /**
   * A delegation of the tenant's keys (ADR 0148): its rows, to be stored together, and the text of its key. Rejects
   * with `tenant_not_found` for unknown tenants.
   */
  delegate(
    tenantId: string,
    name: string,
    now: number,
  ): Promise<{ readonly rows: readonly KeyRow[]; readonly text: Secret<string> }>
  /** The stored keys of one purpose of the service, unwrapped, oldest version first. */
  serviceKeys(purpose: ServicePurpose): Promise<readonly ServiceKey[]>
  /** The 32 bytes, wrapped, to be stored as this version of the service's key. */
  wrapServiceKey(
    name: { purpose: ServicePurpose; version: number },
    key: Buffer,
    now: number,
  ): Promise<KeyRow>
  /** A keyed digest for the service's own use, hex: API keys (`api-key`), the audit chain (`audit`). */
  mac(purpose: 'api-key' | 'audit', data: string | Buffer): string
  /** The digest of a journal's chain: `mac('audit', …)`, or that of the delegation whose gateway writes it. */
  journalMac(journal: string): (data: string | Buffer) => string
}
