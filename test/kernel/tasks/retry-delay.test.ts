import t from 'tap'
import { retryDelay } from '../../../src/kernel/tasks/retry-delay.ts'

t.test(
  'a failing consumer is called again after 1 s, then twice as long each time, up to 5 min',
  async (t) => {
    t.strictSame(
      [1, 2, 3, 8, 9, 10, 2_000].map(retryDelay),
      [1_000, 2_000, 4_000, 128_000, 256_000, 300_000, 300_000],
    )
  },
)
