import { AppError } from '../common/errors.ts'

/**
 * The value, unless it is a text with U+0000, which PostgreSQL cannot keep: then throws `invalid`. Asked of all that is
 * bound, so that both engines take the same.
 */
export const rejectNul = <T>(value: T): T => {
  if (typeof value === 'string' && value.includes('\0'))
    throw new AppError('invalid', 'A text holds the character U+0000, which the store cannot keep.')
  return value
}
