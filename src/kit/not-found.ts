import { AppError, ERRORS, type ErrorCode } from '../common/errors.ts'
import { UUID_PATTERN } from '../common/ids.ts'

const UUID = new RegExp(UUID_PATTERN)
const PERMISSION = /^[a-z][a-z-]{0,49}(?::[a-z-]{1,50}){1,3}$/

/**
 * The 404 of an entity whose ids are UUIDs. Any other text is not repeated: callers send keys and values as ids, and
 * errors never contain either (completions §2).
 */
export const notFound = (code: Extract<ErrorCode, `${string}_not_found`>, id: string): AppError => {
  const entity = ERRORS[code].title.replace(' not found', '')
  return new AppError(
    code,
    UUID.test(id) ? `${entity} "${id}" does not exist.` : `${entity} does not exist: its id is not a UUID.`,
  )
}

/** Issue of an undeclared permission. Repeats the text only when it has the form of a permission. */
export const unknownPermission = (permission: string): string =>
  `${PERMISSION.test(permission) ? `"${permission}"` : 'what was sent'} is not a permission; see GET /permissions`
