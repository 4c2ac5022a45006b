import type { TaskRun } from '../../store/tasks/types.ts'

interface Attempt {
  /** `lost`: another process may have the task. */
  readonly outcome: TaskRun['outcome'] | 'lost'
  readonly err?: unknown
}

interface Ends {
  /** Aborts the run, and waits for it. */
  readonly stopping: AbortSignal
  /** Aborts the run, and does not wait for it. */
  readonly lost: AbortSignal
  /** ms, after which the run is aborted and not waited for. */
  readonly timeout?: number
}

/** Runs a function of a plugin. One that ignores its signal continues, and its result is ignored. */
export const attempt = async (
  run: (signal: AbortSignal) => Promise<unknown>,
  { stopping, lost, timeout }: Ends,
): Promise<Attempt> => {
  const controller = new AbortController()
  const abandoned = Promise.withResolvers<'lost' | 'timeout'>()
  const abandon = (why: 'lost' | 'timeout') => {
    abandoned.resolve(why)
    controller.abort()
  }
  const stop = () => controller.abort()
  const lose = () => abandon('lost')
  stopping.addEventListener('abort', stop)
  lost.addEventListener('abort', lose)
  const timer = timeout === undefined ? undefined : setTimeout(() => abandon('timeout'), timeout)
  try {
    if (lost.aborted) return { outcome: 'lost' }
    if (stopping.aborted) return { outcome: 'interrupted' }
    const running = run(controller.signal).then(() => 'ok' as const)
    return { outcome: await Promise.race([running, abandoned.promise]) }
  } catch (err) {
    return stopping.aborted ? { outcome: 'interrupted' } : { outcome: 'failed', err }
  } finally {
    clearTimeout(timer)
    stopping.removeEventListener('abort', stop)
    lost.removeEventListener('abort', lose)
  }
}
