import { AppError } from '../../src/common/errors.ts'

/** Why a promise was rejected, as `code: sentence`; other texts when it was not, or not by one of our errors. */
export const problemOf = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise
  } catch (thrown) {
    return thrown instanceof AppError ? `${thrown.code}: ${thrown.message}` : `not ours: ${thrown}`
  }
  return 'no failure'
}
