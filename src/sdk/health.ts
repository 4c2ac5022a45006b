/** A contribution that works with limits. */
export interface Degraded {
  /** A sentence for operators, at most 300 characters. All who can read `/readyz` read it: no value, no credential. */
  readonly degraded: string
}

/** A contribution that reports how it is, as a component of `/readyz`. */
export interface WithHealth {
  /**
   * Resolves with `undefined` while it works. Called every 5 s, and not while an earlier call runs; `/readyz` shows
   * the last result. A rejection, or nothing for 2 s (then `signal` is aborted), is degraded, too. Degraded is ready:
   * to take the process out of service, reject in the plugin's own `health`.
   */
  health?(signal: AbortSignal): Promise<Degraded | undefined>
}
