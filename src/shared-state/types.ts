/** So many calls a minute; as many at once when there were none before. */
export interface Rate {
  readonly perMinute: number
}

/** Short-lived state that replicas share. In one process now; a driver over Redis is to keep the same promises. */
export interface SharedState {
  /** Takes one call from a bucket: 0 when there was one, else the ms until there is. */
  take(bucket: string, rate: Rate): Promise<number>
  close(): Promise<void>
}
