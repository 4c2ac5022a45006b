import { AppError } from '../common/errors.ts'

/** A search, a page or a total that was interrupted (completions §3). */
export const tooSlow = (): AppError =>
  new AppError(
    'invalid',
    'Finding or counting the entries takes too long. Narrow the list, or walk it by a cursor list ("start").',
  )
