/** Cost of sandbox children that each run code of one tenant only: node test/bench/tenants.ts [seconds] */
import { createLog } from '../../src/common/log.ts'
import { createMetrics } from '../../src/common/metrics.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { cpuSeconds, residentMiB } from './cpu.ts'

const SECONDS = Number(process.argv[2] ?? 4)
const code =
  'module.exports = async ({ args: { body: { card, ...rest } } }) => ({ body: { ...rest, source: { pan: card } } })'
const argument = JSON.stringify({ args: { body: { card: '4242424242424242', padding: 'x'.repeat(900) } } })
const host = { sdk: false, call: async () => null }

/** Each tenant calls one transform again and again, one call at a time. */
const measure = async (children: number, apart: boolean, tenants: number) => {
  const pids = new Set<number>()
  /** CPU of children that are gone is lost: those alive are looked at often. */
  const spent = new Map<number, number>()
  let started = 0
  const sandbox = await createSandbox(
    { log: createLog('bench', 'silent'), metrics: createMetrics() },
    {
      children,
      require: apart ? ['tenant'] : [],
      onChild: (pid, what) => {
        if (what === 'started') started++
        if (what === 'started') pids.add(pid)
        else pids.delete(pid)
      },
    },
  )
  const look = () => {
    for (const pid of pids) spent.set(pid, cpuSeconds(pid))
  }
  const call = (tenantId: string) =>
    sandbox.run({ program: { tenantId, name: 'code', code }, argument, host })
  for (let tenant = 0; tenant < tenants; tenant++) await call(`t${tenant}`)
  look()
  const before = [...spent.values()].reduce((sum, cpu) => sum + cpu, 0)
  const startedBefore = started
  const watching = setInterval(look, 20)
  const latencies: number[] = []
  const end = performance.now() + SECONDS * 1_000
  const worker = async (tenantId: string) => {
    while (performance.now() < end) {
      const at = performance.now()
      const { kind } = await call(tenantId)
      if (kind === 'returned') latencies.push(performance.now() - at)
    }
  }
  await Promise.all(Array.from({ length: tenants }, (_, tenant) => worker(`t${tenant}`)))
  clearInterval(watching)
  look()
  const cpu = [...spent.values()].reduce((sum, each) => sum + each, 0) - before
  const mib = [...pids].reduce((sum, pid) => sum + residentMiB(pid), 0)
  latencies.sort((a, b) => a - b)
  const at = (part: number) => (latencies[Math.floor((latencies.length - 1) * part)] ?? 0).toFixed(1)
  process.stdout.write(
    `${apart ? 'apart' : 'mixed'}, ${children} children, ${tenants} tenants: ${(latencies.length / SECONDS).toFixed(0)} calls/s, ` +
      `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${((cpu * 1_000) / latencies.length).toFixed(2)} ms of children's CPU a call, ` +
      `${mib.toFixed(0)} MiB, ${started - startedBefore} children started\n`,
  )
  await sandbox.close()
}

for (const tenants of [2, 4, 8])
  for (const [children, apart] of [
    [2, false],
    [2, true],
    [8, true],
  ] as const)
    await measure(children, apart, tenants)
