import t from 'tap'
import { createLog } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'

t.test('a child continues after results of every size, also those that fill its stream', async (t) => {
  const log = createLog('test', 'silent')
  const sandbox = await createSandbox({ log, metrics: createMetrics() }, { children: 2 })
  t.teardown(() => sandbox.close())
  const program = { tenantId: 't', name: 'f', code: 'module.exports = ({ size }) => "x".repeat(size)' }
  const host = { sdk: false, call: async () => null }
  const ends = new Set<string>()
  for (let size = 150_000; size < 400_000; size += 1000) {
    const outcome = await sandbox.run({ program, argument: JSON.stringify({ size }), host })
    ends.add(outcome.kind)
    if (outcome.kind !== 'returned') break
  }
  t.same([...ends], ['returned'])
})
