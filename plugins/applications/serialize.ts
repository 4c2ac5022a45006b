import type { Static } from 'typebox'
import { isoTime } from '#sdk'
import type { ApplicationRecord, KeyRecord } from './collections.ts'
import type { ApplicationOutput, KeyOutput } from './schemas.ts'

/** An application as the API shows it; `key` only where one was just made. */
export const serializeApplication = (
  tenantId: string,
  application: ApplicationRecord,
  key?: string,
): Static<typeof ApplicationOutput> => ({
  id: application.id,
  tenant_id: tenantId,
  name: application.name,
  type: application.type,
  permissions: application.permissions,
  rules: application.rules,
  ...(key === undefined ? {} : { key }),
  ...(application.destinations === undefined ? {} : { destinations: application.destinations }),
  ...(application.response_guard === undefined ? {} : { response_guard: application.response_guard }),
  ...(application.allowed_origins === undefined ? {} : { allowed_origins: application.allowed_origins }),
  ...(application.expires_at === undefined ? {} : { expires_at: isoTime(application.expires_at) }),
  created_by: application.created_by,
  created_at: isoTime(application.created_at),
  ...(application.modified_by === undefined ? {} : { modified_by: application.modified_by }),
  ...(application.modified_at === undefined ? {} : { modified_at: isoTime(application.modified_at) }),
})

/** A key as the API shows it: never its text. */
export const serializeKey = (key: KeyRecord): Static<typeof KeyOutput> => ({
  id: key.id,
  version: String(key.version),
  created_by: key.created_by,
  created_at: isoTime(key.created_at),
  ...(key.expires_at === undefined ? {} : { expires_at: isoTime(key.expires_at) }),
})
