import { AppError } from '../../common/errors.ts'

export const corruptSnapshot = (what: string): AppError =>
  new AppError('invalid', `The copy is damaged: ${what}. Use another copy. Nothing was changed.`)
