export interface StoreLock {
  /** Releases the lock. */
  release(): Promise<void>
}

export interface LockOptions {
  /** Another process has acquired the lock while the store was unreachable. Called at most once. */
  readonly onLocked: () => void
  /** ms to wait for another holder to exit; one whose machine vanished is dropped within 9 s. Default 12,000. */
  readonly timeout?: number
}
