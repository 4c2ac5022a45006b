import type { TSchema } from 'typebox'
import type { Degraded } from './health.ts'

/** Context of a key provider. */
export interface KeyProviderContext<Config = unknown> {
  /** The part after `<scheme>:` in SIDEVAULT_ROOT_KEY. */
  readonly address: string
  /**
   * Its configuration, valid by its schema; `{}` when it declares none. It is `"<scheme>:"` among the configurations of
   * plugins.
   */
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborts at the service's timeout. */
  readonly signal: AbortSignal
}

/**
 * A key management service, which wraps the root key so that only it can unwrap it: `SIDEVAULT_ROOT_KEY=<scheme>:…`.
 * A plugin's folder (or package) exports it as `keyProvider` from `key-provider.ts` (or `.js`), a module that is
 * imported alone, before the kernel and the plugin's declarations: the service must open its keys first. The wrapped
 * key is in the store; the root key is in memory only. Failures are AppErrors with a remedy, without key material or
 * credentials.
 */
export interface KeyProvider<Config = unknown> {
  /** a-z, 0-9, "-". */
  readonly scheme: string
  /** Schema of its configuration. Default: it takes none. */
  readonly config?: TSchema
  /**
   * Printable text of at most 4,096 characters, from which `unwrap` returns the same 32 bytes. Called once for each
   * root key.
   */
  wrap(key: Uint8Array, place: KeyProviderContext<Config>): Promise<string>
  /** Called at each start of a process, and when the root key was changed. */
  unwrap(wrapped: string, place: KeyProviderContext<Config>): Promise<Uint8Array>
  /** As `health` of other contributions: called in the process that serves `/readyz`, while its scheme is in use. */
  health?(place: KeyProviderContext<Config>): Promise<Degraded | undefined>
}
