/** What a key provider is told of its place. */
export interface KeyPlace {
  /** What follows `<scheme>:` in SIDEVAULT_ROOT_KEY. */
  readonly address: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborts when the service has waited long enough. */
  readonly signal: AbortSignal
}

/**
 * A key management service, which wraps the root key so that only it can unwrap it: `SIDEVAULT_ROOT_KEY=<scheme>:…`.
 * A plugin's folder (or package) exports it as `keyProvider` from `key-provider.ts` (or `.js`), a module that is imported
 * alone, before the kernel and whatever the plugin declares: the service must open its keys first. The wrapped key lies in
 * the store; the root key is in memory only. Failures are AppErrors with a remedy, without key material or credentials.
 */
export interface KeyProvider {
  /** a-z, 0-9, "-". */
  readonly scheme: string
  /** Printable text of at most 4,096 characters that `unwrap` makes the same 32 bytes of. Asked once for each root key. */
  wrap(key: Uint8Array, place: KeyPlace): Promise<string>
  /** Asked at each start of a process, and when the root key was changed. */
  unwrap(wrapped: string, place: KeyPlace): Promise<Uint8Array>
}
