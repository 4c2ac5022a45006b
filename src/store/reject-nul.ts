import { AppError } from '../common/errors.ts'

/**
 * Throws `invalid` for a text with U+0000, which PostgreSQL cannot store. Applied to every bound value, so that both
 * engines accept the same input.
 */
export const rejectNul = <T>(value: T): T => {
  if (typeof value === 'string' && value.includes('\0'))
    throw new AppError('invalid', 'A text contains the character U+0000, which cannot be stored.')
  return value
}
