/** What a process does once it answers. */
export interface RunningRole {
  /** The admin process of a first start: what the supervisor has to tell. */
  readonly installed?: { readonly key?: string }
  /** Lets requests in hand end, then closes everything. */
  close(): Promise<void>
}
