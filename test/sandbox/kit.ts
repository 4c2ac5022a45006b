import { createLog } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { createSandbox, type SandboxOptions } from '../../src/sandbox/sandbox.ts'
import type { Invocation, Outcome, Sandbox, SandboxHost } from '../../src/sandbox/types.ts'

export const NO_HOST: SandboxHost = {
  sdk: false,
  call: async () => {
    throw new Error('This test has no host.')
  },
}

export interface RunOptions extends Partial<Omit<Invocation, 'program' | 'argument'>> {
  readonly tenantId?: string
  readonly name?: string
  readonly argument?: unknown
}

/** A sandbox and its children's process ids; it ends with the test. */
export const openSandbox = async (
  t: { teardown(end: () => Promise<void>): void },
  options: SandboxOptions = {},
) => {
  const pids = new Set<number>()
  const metrics = createMetrics()
  const sandbox: Sandbox = await createSandbox(
    { log: createLog('test', 'silent'), metrics },
    {
      ...options,
      // Time that goes by ends only what a test gives less of it.
      limits: { cpuMs: 20_000, wallMs: 120_000, ...options.limits },
      onChild: (pid, what) => {
        if (what === 'started') pids.add(pid)
        else pids.delete(pid)
        options.onChild?.(pid, what)
      },
    },
  )
  t.teardown(() => sandbox.close())
  const run = (
    code: string,
    { tenantId = 'tenant', name = 'code', argument = {}, ...rest }: RunOptions = {},
  ): Promise<Outcome> =>
    sandbox.run({
      program: { tenantId, name, code },
      argument: JSON.stringify(argument),
      host: NO_HOST,
      ...rest,
    })
  return { sandbox, run, pids, metrics }
}

/** What the code returned; throws when it did not. */
export const returned = (outcome: Outcome): unknown => {
  if (outcome.kind !== 'returned') throw new Error(`It did not return: ${JSON.stringify(outcome)}`)
  return outcome.json === undefined ? undefined : JSON.parse(outcome.json)
}
