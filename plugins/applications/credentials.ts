import { AppError, type Credential, newId, type PluginContext, type Ports } from '#sdk'
import { ApplicationKeys, type ApplicationRecord, Applications, type KeyRecord } from './collections.ts'
import type { Directory } from './directory.ts'

/** An application as a caller, with the key it calls with if there is one. */
export const credentialOf = (
  tenantId: string,
  application: ApplicationRecord,
  key?: Pick<KeyRecord, 'id' | 'expires_at'>,
): Credential => {
  const { id, name, type, permissions, rules, destinations } = application
  const { response_guard: responseGuard, allowed_origins: allowedOrigins } = application
  const ends = [application.expires_at, key?.expires_at].filter((end) => end !== undefined)
  return {
    caller: {
      tenantId,
      actorId: id,
      actorType: 'application',
      applicationId: id,
      applicationName: name,
      applicationType: type,
      ...(key === undefined ? {} : { keyId: key.id }),
      ...(responseGuard === undefined ? {} : { responseGuard }),
      ...(allowedOrigins === undefined ? {} : { allowedOrigins }),
      grants: { permissions, rules, ...(destinations === undefined ? {} : { destinations: [destinations] }) },
    },
    ...(ends.length === 0 ? {} : { expiresAt: Math.min(...ends) }),
  }
}

/** The port with which the kernel finds the application of a key. */
export const credentials = (context: PluginContext, directory: Directory): Ports['credentials'] => {
  const { applications, keys } = directory

  const installed = async (tenantId: string, keyHash: string): Promise<boolean> => {
    const entry = await keys().lookup('key_hash', keyHash)
    if (entry !== undefined && entry.tenantId !== tenantId)
      throw new AppError('conflict', 'The bootstrap key is in use by another tenant. Choose another one.')
    return entry !== undefined
  }

  return {
    collections: [Applications.name, ApplicationKeys.name],

    authenticate: async (keyHash) => {
      const entry = await keys().lookup('key_hash', keyHash)
      if (entry === undefined) return undefined
      const { tenantId, record: key } = entry
      const application = await applications().get(tenantId, key.application_id)
      return application && credentialOf(tenantId, application, key)
    },

    install: async (tenantId, keyHash) => {
      if (await installed(tenantId, keyHash)) return
      const id = newId()
      const created = { created_by: id, created_at: context.clock.now() }
      try {
        await context.commit([
          applications().insertMutation(tenantId, {
            id,
            name: 'Bootstrap',
            type: 'management',
            permissions: context
              .permissions()
              .filter((permission) => permission.application_types.includes('management'))
              .map((permission) => permission.type),
            rules: [],
            keys_made: 1,
            ...created,
          }),
          keys().insertMutation(tenantId, {
            id: newId(),
            application_id: id,
            key_hash: keyHash,
            version: 1,
            ...created,
          }),
        ])
      } catch (error) {
        // Another process may have installed the same key concurrently.
        if (!(await installed(tenantId, keyHash))) throw error
      }
    },
  }
}
