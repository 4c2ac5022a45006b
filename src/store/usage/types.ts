export interface TypeUsage {
  readonly type: string
  /** Live tokens. */
  readonly count: number
  readonly last_created_at: number
}

export interface UsageStore {
  /** Live tokens by type; types without any are left out. */
  types(tenantId: string, now: number): Promise<readonly TypeUsage[]>
  /** Distinct tokens created, read or used in the month (UTC) of `now`, by the logs ingested so far. */
  active(tenantId: string, now: number): Promise<number>
}
