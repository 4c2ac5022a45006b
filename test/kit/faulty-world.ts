import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Responded, startWorld, type World } from './egress.ts'

const PROGRAM = fileURLToPath(new URL('./fault-processor.ts', import.meta.url))

/** A body that must not arrive as it is. */
export const SECRET = 'a body with {{ a token }} in it'

interface FaultyWorld<W extends World = World> {
  readonly world: W
  /** Where Envoy looks for its processor. */
  readonly socket: string
  /** The destination's authority. */
  readonly to: string
  /** Makes a call during which the processor has this fault; its trace id is `trace`. */
  send(fault: string, options?: { body?: string; method?: string }): Promise<Responded>
  startProcessor(): Promise<void>
  /**
   * Starts a processor on a path that Envoy does not use; the returned function moves it to the path that Envoy uses.
   */
  prepareProcessor(): Promise<() => void>
  killProcessor(): Promise<void>
  close(): Promise<void>
}

/** A shared Envoy for all faults, so that an effect of a fault on the next request is seen. */
export const startFaultyWorld = (): Promise<FaultyWorld> => inFaultyWorld(startWorld(FAULTY))

/** Options of a world whose gateway the processor replaces. */
export const FAULTY = { withGateway: false, bootstrap: { gatewayTimeoutMs: 1000 } } as const

/** The same for another world. */
export const inFaultyWorld = async <W extends World>(starting: Promise<W>): Promise<FaultyWorld<W>> => {
  const world = await starting
  const socket = join(world.directory, 'gateway.sock')
  const to = `dest.test:${world.destination.port}`
  let processor: ChildProcess | undefined

  const killProcessor = async (): Promise<void> => {
    if (!processor || processor.exitCode !== null || processor.signalCode !== null) return
    const ended = once(processor, 'exit')
    processor.kill('SIGKILL')
    await ended
  }
  const prepareProcessor = async (): Promise<() => void> => {
    const aside = `${socket}.aside`
    processor = spawn(process.execPath, [PROGRAM, aside], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(processor.stdout as NodeJS.ReadableStream, 'data')
    return () => renameSync(aside, socket)
  }
  return {
    world,
    socket,
    to,
    send: (fault, options = { body: SECRET }) =>
      world.post('/proxy/x', {
        ...options,
        headers: { 'x-fault': fault, 'x-to': to, 'svc-trace-id': 'trace' },
      }),
    startProcessor: async () => (await prepareProcessor())(),
    prepareProcessor,
    killProcessor,
    close: async () => {
      await killProcessor()
      await world.close()
    },
  }
}
