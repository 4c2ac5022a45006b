import { AppError } from './errors.ts'

/** Maximum attempts of a change that conflicts with other writers. */
const ATTEMPTS = 200

export const isConflict = (thrown: unknown): boolean =>
  thrown instanceof AppError && thrown.code === 'conflict'

/**
 * The result of `attempt`, which reads, changes and writes. It is repeated when another change came between
 * (`conflict`), unless `mayRetry` says that this conflict would not go away.
 */
export const retryOnConflict = async <T>(
  attempt: () => Promise<T>,
  mayRetry: () => Promise<boolean> | boolean = () => true,
): Promise<T> => {
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (thrown) {
      if (count >= ATTEMPTS || !isConflict(thrown) || !(await mayRetry())) throw thrown
    }
  }
}
