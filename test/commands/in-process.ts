/** Commands in the process of the test: as bin/sidevault.js runs them, without its start. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { main } from '../../src/main.ts'
import { root } from '../kit/sources.ts'

/** Result of a command: its exit code, what it wrote to standard output and standard error, and both in order. */
interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
  readonly text: string
}

interface Written {
  out: string
  err: string
  text: string
}

const writing = new AsyncLocalStorage<Written>()

/** Output of a command goes into its result, that of everything else where it went before. */
const capture = (stream: NodeJS.WriteStream, member: 'out' | 'err'): (() => void) => {
  const { write } = stream
  stream.write = ((...args: Parameters<typeof write>) => {
    const written = writing.getStore()
    if (written === undefined) return write.apply(stream, args)
    written[member] += args[0]
    written.text += args[0]
    return true
  }) as typeof write
  return () => {
    stream.write = write
  }
}

const inEnvironment = (env: Readonly<Record<string, string>>): (() => void) => {
  const before = { ...process.env }
  const set = (next: NodeJS.ProcessEnv) => {
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, next)
  }
  const { PATH, HOME } = before
  set({ ...(PATH === undefined ? {} : { PATH }), ...(HOME === undefined ? {} : { HOME }), ...env })
  return () => set(before)
}

const run = async (
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> => {
  const written: Written = { out: '', err: '', text: '' }
  const { exitCode } = process
  const directory = process.cwd()
  const listeners = process.stdout.listeners('error')
  const ends = [capture(process.stdout, 'out'), capture(process.stderr, 'err'), inEnvironment(env)]
  process.chdir(cwd)
  process.exitCode = undefined
  try {
    await writing.run(written, () => main([process.execPath, `${root}/bin/sidevault.js`, ...args]))
    return { code: Number(process.exitCode ?? 0), ...written }
  } finally {
    for (const end of ends) end()
    process.chdir(directory)
    process.exitCode = exitCode
    for (const listener of process.stdout.listeners('error'))
      if (!listeners.includes(listener)) process.stdout.off('error', listener as () => void)
  }
}

let last: Promise<unknown> = Promise.resolve()

/**
 * Runs a command to its end with these variables besides PATH and HOME. Commands run one after the other: they share
 * environment, working directory and exit code of the process. Rejects where the command would end with a stack.
 */
export const command = (
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> => {
  const ended = last.then(() => run(cwd, args, env))
  last = ended.catch(() => {})
  return ended
}
