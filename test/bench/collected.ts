/** What Node processes hold when their garbage is collected, by their inspectors (Chrome DevTools protocol). */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** In the environment of processes that are to be asked: SIGUSR1 then opens an inspector on a port of its own. */
export const INSPECTABLE = { NODE_OPTIONS: '--inspect-port=0' }

export interface Held {
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
        return [] // closed meanwhile
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

/** Asks a process that was started with INSPECTABLE and listens on no other TCP port. */
export const inspect = async (pid: number): Promise<() => Promise<Held>> => {
  process.kill(pid, 'SIGUSR1')
  let port = portOf(pid)
  for (; port === undefined; port = portOf(pid)) await delay(50)
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    webSocketDebuggerUrl: string
  }[]
  const socket = new WebSocket(target!.webSocketDebuggerUrl)
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }))
  let last = 0
  const ask = (method: string, params: object = {}) =>
    new Promise<{ readonly result?: { readonly value?: string } }>((resolve) => {
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
  return async () => {
    await ask('HeapProfiler.collectGarbage')
    const expression = 'JSON.stringify(process.memoryUsage())'
    const { result } = await ask('Runtime.evaluate', { expression })
    const { heapUsed, external } = JSON.parse(result?.value ?? '{}')
    return { used: heapUsed / 2 ** 20, external: external / 2 ** 20 }
  }
}
