import { execFileSync } from 'node:child_process'

interface Process {
  readonly pid: number
  readonly parent: number
  readonly command: string
}

const list = (): readonly Process[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => {
      const [, pid, parent, command = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []
      return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), command }]
    })

/** All processes below one, without itself. */
export const descendants = (pid: number): readonly Process[] => {
  const all = list()
  const below = (parent: number): readonly Process[] =>
    all
      .filter((child) => child.parent === parent && !child.command.startsWith('ps '))
      .flatMap((child) => [child, ...below(child.pid)])
  return below(pid)
}

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export { until } from '../kit/until.ts'
