import type { Kernel, Ports } from '#sdk'
import { Sessions } from './collections.ts'

/** The port by which the kernel finds the session behind a key. A session ends with its application. */
export const sessionCredentials = (kernel: Kernel): Ports['sessions'] => ({
  // That of the plugin "applications", behind its port.
  collections: [Sessions.name, 'applications'],

  authenticate: async (keyHash) => {
    const found = await kernel.records(Sessions).lookup('key_hash', keyHash)
    if (found === undefined) return undefined
    const { tenantId, record: session } = found
    const application = await kernel.port('applications')?.get(tenantId, session.application_id)
    if (application === undefined) return undefined
    return {
      caller: {
        tenantId,
        actorId: session.id,
        actorType: 'session',
        applicationId: application.id,
        applicationType: application.type,
        grants: { permissions: session.permissions, rules: session.rules },
      },
      expiresAt: Math.min(session.expires_at, application.expires_at ?? Number.POSITIVE_INFINITY),
      ...(session.authorized_at === undefined ? { unauthorized: true } : {}),
    }
  },
})
