import t from 'tap'

/** Runs `close` when the test process ends (test/runner/run-files.ts): its test files share what it closes. */
export const atProcessEnd = (close: () => unknown): void => {
  const closers = (globalThis as Record<symbol, (() => unknown)[] | undefined>)[
    Symbol.for('sidevault.test.process')
  ]
  if (closers) closers.push(close)
  else t.teardown(close)
}
