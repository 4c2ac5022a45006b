import { AppError } from '#sdk'

/** Times that a change starts again because another came between. */
export const ATTEMPTS = 200

export const isConflict = (thrown: unknown): boolean =>
  thrown instanceof AppError && thrown.code === 'conflict'
