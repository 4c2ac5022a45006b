import t, { type Test } from 'tap'

/** Runs `close` when the test process ends: test files that share a process (run-files.ts) share what it closes. */
export const atProcessEnd = (close: () => unknown): void => {
  const whole = (globalThis as Record<symbol, Test | undefined>)[Symbol.for('sidevault.test.process')] ?? t
  whole.teardown(close)
}
