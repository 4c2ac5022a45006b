import { AppError } from '../common/errors.ts'

/** `invalid_expression`: says what is wrong with the expression, never what a token holds. */
export const badExpression = (sentence: string): AppError => new AppError('invalid_expression', sentence)

/** A fault of one filter: `Filter "reveal_last": …`. */
export const badFilter = (filter: string, sentence: string): AppError =>
  badExpression(`Filter "${filter.slice(0, 50)}" ${sentence}`)
