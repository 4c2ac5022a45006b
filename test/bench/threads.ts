import { readdirSync, readFileSync } from 'node:fs'

/** CPU µs that each thread of a process has used, by its name; the first one is `main`, pools are summed. Linux. */
export const threadCpu = (pid: number): Record<string, number> => {
  const used: Record<string, number> = {}
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const path = `/proc/${pid}/task/${thread}`
    try {
      const name = Number(thread) === pid ? 'main' : readFileSync(`${path}/comm`, 'utf8').trim()
      const [ns] = readFileSync(`${path}/schedstat`, 'utf8').split(' ')
      used[name] = (used[name] ?? 0) + Number(ns) / 1000
    } catch {
      // It has ended since.
    }
  }
  return used
}

/** What has been used since `before`, for each of `count` requests, in whole µs. */
export const spent = (
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  count: number,
): Record<string, number> =>
  Object.fromEntries(
    Object.entries(after)
      .map(([name, used]) => [name, Math.round((used - (before[name] ?? 0)) / count)] as const)
      .filter(([, micros]) => micros > 0),
  )
