import { AppError } from '../common/errors.ts'

/** A search, a page or a total that was interrupted (completions §3). */
export const tooSlow = (): AppError =>
  new AppError('invalid', 'The query takes too long. Narrow the list, or use a cursor list ("start").')
