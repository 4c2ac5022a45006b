import type { Config } from '../config.ts'

/** Milliseconds from when a process answers until it makes code ready: that may not slow down what starts beside it. */
export const WARM_AFTER_MS = 2_500

/** What a process does once it answers. */
export interface RunningRole {
  /** The admin process of a first start: what the supervisor has to tell. */
  readonly installed?: { readonly key?: string }
  /** Goes on with settings that may change while it runs, and the PEM file of the authorities that Envoy trusts. */
  take(config: Config, trustBundle: string): Promise<void>
  /** Lets requests in hand end, then closes everything. */
  close(): Promise<void>
}

/** What a role tells while it starts and runs. */
export interface RoleEvents {
  /** The place of a plugin whose code runs next; undefined when it has returned. */
  readonly onProgress?: (place: string | undefined) => void
  /** A child process that runs tenants' code. */
  readonly onSandbox?: (pid: number, what: 'started' | 'ended') => void
}
