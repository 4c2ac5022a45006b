/** Memory of Node processes after garbage collection, by their inspectors (Chrome DevTools protocol). */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** In the environment of processes that are to be asked: SIGUSR1 then opens an inspector on a port of its own. */
export const INSPECTABLE = { NODE_OPTIONS: '--inspect-port=0' }

interface Held {
  /** MiB of V8's heap that is in use, and of what its objects hold outside it. */
  readonly used: number
  readonly external: number
}

/** A TCP port of 127.0.0.1 that the process listens on. */
const portOf = (pid: number): number | undefined => {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        return [] // closed in the meantime
      }
    }),
  )
  const LISTENING = '0A'
  for (const line of readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1)) {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/)
    if (state === LISTENING && inodes.has(inode)) return Number.parseInt(local.split(':')[1] ?? '', 16)
  }
  return undefined
}

export interface Inspector {
  /** The command's result. */
  send<Result>(method: string, params?: object): Promise<Result>
  /** The value of an expression, as JSON. */
  evaluate<Value>(expression: string): Promise<Value>
  close(): void
}

/** Opens the inspector of a process that was started with INSPECTABLE and listens on no other TCP port. */
export const openInspector = async (pid: number): Promise<Inspector> => {
  process.kill(pid, 'SIGUSR1')
  let port = portOf(pid)
  for (; port === undefined; port = portOf(pid)) await delay(50)
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string
  }[]
  const socket = new WebSocket(target!.webSocketDebuggerUrl)
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))
  let last = 0
  const send = <Result>(method: string, params: object = {}) =>
    new Promise<Result>((resolve) => {
      const id = ++last
      const hear = ({ data }: MessageEvent) => {
        const message = JSON.parse(String(data))
        if (message.id !== id) return
        socket.removeEventListener('message', hear)
        resolve(message.result)
      }
      socket.addEventListener('message', hear)
      socket.send(JSON.stringify({ id, method, params }))
    })
  return {
    send,
    evaluate: async (expression) => {
      const evaluated = `JSON.stringify(${expression})`
      const { result } = await send<{ readonly result: { readonly value?: string } }>('Runtime.evaluate', {
        expression: evaluated,
      })
      if (result.value === undefined) throw new Error(`the process cannot evaluate ${expression}`)
      return JSON.parse(result.value)
    },
    close: () => socket.close(),
  }
}

/** Asks a process that was started with INSPECTABLE. */
export const inspect = async (pid: number): Promise<() => Promise<Held>> => {
  const { send, evaluate } = await openInspector(pid)
  return async () => {
    await send('HeapProfiler.collectGarbage')
    const { heapUsed, external } = await evaluate<NodeJS.MemoryUsage>('process.memoryUsage()')
    return { used: heapUsed / 2 ** 20, external: external / 2 ** 20 }
  }
}
