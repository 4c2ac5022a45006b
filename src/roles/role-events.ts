import type { Config } from '../config.ts'
import type { FailedComponent } from '../supervisor/messages.ts'

/**
 * Delay after the start before code is compiled in advance (ms), so that it does not slow down other starting
 * processes.
 */
export const WARM_AFTER_MS = 2_500

/** A process that serves calls. */
export interface RunningRole {
  /** Set by the admin process on the first start: the supervisor shows the key. */
  readonly installed?: { readonly key?: string }
  /** Applies the reloadable settings. `trustBundle`: PEM file of the authorities that Envoy trusts. */
  reload(config: Config, trustBundle: string): Promise<void>
  /** The components of the service that fail now. Only in the process that serves `/readyz`. */
  failed?(): Promise<readonly FailedComponent[]>
  /** Accepts no new connections on a listener of its own; requests in flight get the drain time from now on. */
  drain?(): void
  /** Waits for running requests, then closes everything. */
  close(): Promise<void>
}

/** Callbacks of a role. */
export interface RoleEvents {
  /** Location of the plugin whose code runs next; undefined when it has returned. */
  readonly onProgress?: (place: string | undefined) => void
  /** Called for each child process that runs tenants' code. */
  readonly onSandbox?: (pid: number, what: 'started' | 'ended') => void
}
