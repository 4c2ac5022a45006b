import { AppError } from '../common/errors.ts'

/** `invalid_expression`. The sentence describes the expression and never contains a value. */
export const badExpression = (sentence: string): AppError => new AppError('invalid_expression', sentence)

/** Error of one filter: `Filter "reveal_last" …`. */
export const badFilter = (filter: string, sentence: string): AppError =>
  badExpression(`Filter "${filter.slice(0, 50)}" ${sentence}`)
