import { AppError, ERRORS, type ErrorCode } from './errors.ts'
import { UUID_PATTERN } from './ids.ts'

const UUID = new RegExp(UUID_PATTERN)
const PERMISSION = /^[a-z][a-z-]{0,49}(?::[a-z-]{1,50}){1,3}$/

/**
 * The 404 for an entity whose ids are UUIDs. Any other id is not repeated: callers mistake keys and values for ids, and
 * errors never hold either (completions §2).
 */
export const notFound = (code: Extract<ErrorCode, `${string}_not_found`>, id: string): AppError => {
  const entity = ERRORS[code].title.replace(' not found', '')
  return new AppError(
    code,
    UUID.test(id) ? `${entity} "${id}" does not exist.` : `${entity} does not exist: its id is not a UUID.`,
  )
}

/** What is wrong with a permission that nothing has declared; repeated only when it is shaped like one. */
export const unknownPermission = (permission: string): string =>
  `${PERMISSION.test(permission) ? `"${permission}"` : 'what was sent'} is not a permission; see GET /permissions`
