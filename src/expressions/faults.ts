import { AppError } from '../common/errors.ts'

/** `bad_expression`: says what is wrong with the expression, never what a token holds. */
export const badExpression = (sentence: string): AppError => new AppError('bad_expression', sentence)

/** A fault of one filter: `Filter "reveal_last": …`. */
export const badFilter = (filter: string, sentence: string): AppError =>
  badExpression(`Filter "${filter.slice(0, 50)}" ${sentence}`)

/** An AppError thrown inside a filter, dug out of liquidjs' wrappers; undefined when it was something else. */
export const innerAppError = (thrown: unknown): AppError | undefined => {
  let current = thrown
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if (current instanceof AppError) return current
    current = (current as { readonly originalError?: unknown }).originalError
  }
  return undefined
}
