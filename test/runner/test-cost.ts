/** What a run of tests costs: CPU-seconds by file and by folder, children included. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A test file or a check, and its CPU-seconds. */
export interface Cost {
  readonly name: string
  readonly cpu: number
}

type Row = readonly [name: string, cpu: number]

/** Ticks a second of the times in `/proc/<pid>/stat` (`getconf CLK_TCK`: 100 on every Linux that Node runs on). */
const TICKS = 100

/** Files that the summary names. */
const NAMED = 20

/**
 * CPU-seconds of this process and of the children that it has waited for (`proc_pid_stat(5)`, fields 14 to 17). 0 where
 * there is no `/proc`.
 */
export const cpuSeconds = () => {
  try {
    const stat = readFileSync('/proc/self/stat', 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS
  } catch {
    return 0
  }
}

const groupOf = (name: string) =>
  /^test\/([^/ ]+)\//.exec(name)?.[1] ?? (name.startsWith('test/') ? 'test' : name)

/**
 * A summary in lines, and all costs as JSON.
 * @param total of the whole run; what no file accounts for (a shared database, the runner) is a row of its own
 */
export const summarize = (costs: readonly Cost[], total: number) => {
  const listed = costs.reduce((sum, { cpu }) => sum + cpu, 0)
  const complete = [...costs, { name: 'database and runner', cpu: Math.max(0, total - listed) }]
  const groups = new Map<string, number>()
  for (const { name, cpu } of complete) groups.set(groupOf(name), (groups.get(groupOf(name)) ?? 0) + cpu)
  const sorted = (rows: readonly Row[]) => [...rows].sort(([, a], [, b]) => b - a)
  const byGroup = sorted([...groups])
  const byFile = sorted(complete.map(({ name, cpu }) => [name, cpu] as const))
  const lines = (rows: readonly Row[]) => rows.map(([name, cpu]) => `${cpu.toFixed(1).padStart(8)} ${name}`)
  return {
    text: [
      `CPU-seconds: ${total.toFixed(0)}, by folder:`,
      ...lines(byGroup.filter(([, cpu]) => cpu >= 1)),
      `most expensive files:`,
      ...lines(byFile.slice(0, NAMED)),
    ].join('\n'),
    json: { total, groups: Object.fromEntries(byGroup), files: Object.fromEntries(byFile) },
  }
}

/** Keeps the costs of the last complete run in `.cache/test-cost.json`. */
export const keepCost = (root: string, json: object) => {
  mkdirSync(join(root, '.cache'), { recursive: true })
  writeFileSync(join(root, '.cache', 'test-cost.json'), `${JSON.stringify(json, null, 2)}\n`)
}
