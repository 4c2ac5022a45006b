/** Removes expired records and idempotency records, past months' activity, and rows of deleted tenants. */
export interface TenantPurge {
  /** Removes at most `limit` rows of each table, and of each deleted tenant; returns their number. */
  purge(now: number, limit: number): Promise<number>
}
