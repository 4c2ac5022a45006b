import { createKeyedSemaphore, type RunExclusive } from '../../common/keyed-mutex.ts'

/** Connections of `size` that one tenant may write on: half of them, at least one. */
export const shareOf = (size: number): number => Math.max(1, Math.floor(size / 2))

/** Runs writes of a tenant within its share. All tenants leave one connection to the service. */
export const createWriterShares = (size: number): RunExclusive => {
  const ofTenant = createKeyedSemaphore(shareOf(size))
  const ofAll = createKeyedSemaphore(Math.max(1, size - 1))
  return (tenantId, work) => ofTenant(tenantId, () => ofAll('', work))
}
