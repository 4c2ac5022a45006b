import type { Eventual } from '../../common/eventual.ts'
import type { Caller, StoredProxy, Surface } from '../../sdk/index.ts'

/** Who binds which host. */
export interface Bindings {
  /** What becomes of a CONNECT: opened with our certificate, passed on unopened, or denied. */
  connect(caller: Caller, host: string, port: number): Eventual<'open' | 'tunnel' | 'deny'>
  /**
   * What a request inside is; `path` without its query, `rest` what of it is behind the proxy's own path. Undefined:
   * nothing binds it any more.
   */
  request(
    caller: Caller,
    host: string,
    port: number,
    path: string,
  ): Eventual<
    | { readonly proxy: StoredProxy; readonly rest: string }
    | { readonly surfaces: readonly Surface[] }
    | undefined
  >
}
