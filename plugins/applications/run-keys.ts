import { notFound } from '#kit'
import { type PluginContext, type Ports, Secret } from '#sdk'
import type { Directory } from './directory.ts'

/** ms until the key of a killed run ends. */
const LEASE_MS = 15 * 60_000

/** The port for keys of runs of a command. */
export const runKeys = (context: PluginContext, directory: Directory): Ports['applications']['runKeys'] => ({
  create: async (tenantId, applicationId) => {
    const application = await directory.applications().get(tenantId, applicationId)
    if (application?.type !== 'private') return undefined
    const now = context.clock.now()
    const { record, key } = await directory.addRunKey(applicationId, now + LEASE_MS, {
      tenantId,
      actorId: applicationId,
      now,
    })
    return { id: record.id, key: new Secret(key), endsInMs: LEASE_MS }
  },

  renew: async (tenantId, id) => {
    const now = context.clock.now()
    const renewed = await directory.keys().update(tenantId, id, (key) => {
      if (key.expires_at === undefined || key.expires_at <= now) throw notFound('key_not_found', id)
      return { ...key, expires_at: now + LEASE_MS }
    })
    if (renewed === undefined) throw notFound('key_not_found', id)
  },

  delete: async (tenantId, id) => {
    const key = await directory.keys().get(tenantId, id)
    if (key?.expires_at === undefined) throw notFound('key_not_found', id)
    await directory.deleteKey(tenantId, key.application_id, id)
  },
})
