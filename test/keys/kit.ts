import type { KeyRow, KeyStore } from '../../src/store/types.ts'

/** The far side of `Keys`. */
export interface Rows {
  readonly keys: KeyStore
}

export const keyStore = async (_t: unknown): Promise<Rows> => {
  const rows: KeyRow[] = []
  return {
    keys: {
      keys: async (tenantId) => rows.filter((row) => row.tenant_id === tenantId),
      add: async (fresh) => {
        const taken = fresh.some((row) =>
          rows.some(
            (r) => r.tenant_id === row.tenant_id && r.purpose === row.purpose && r.version === row.version,
          ),
        )
        if (!taken) rows.push(...fresh)
        return !taken
      },
    },
  }
}

export const addTenant = async (store: Rows, _id: string, keys: readonly KeyRow[]): Promise<void> => {
  await store.keys.add(keys)
}
