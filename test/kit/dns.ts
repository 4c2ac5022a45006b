import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import packet, { type Answer } from 'dns-packet'

/** Addresses of a name. `fail`: SERVFAIL. `silent`: no response. Unknown names get NXDOMAIN. */
interface Script {
  readonly a?: readonly string[]
  readonly aaaa?: readonly string[]
  /** Seconds. Default 1. */
  readonly ttl?: number
  readonly fail?: true
  readonly silent?: true
}

export interface DnsServer {
  readonly port: number
  /** Names asked for, in order, with their type. */
  readonly asked: string[]
  /** Sets the responses for a name. A function is called with the count of queries so far. */
  set(name: string, script: Script | ((count: number) => Script)): void
  close(): Promise<void>
}

const RCODE = { noError: 0, serverFailure: 2, noSuchName: 3 }

/** A scripted name server on UDP 127.0.0.1. */
export const startDns = async (): Promise<DnsServer> => {
  const names = new Map<string, Script | ((count: number) => Script)>()
  const counts = new Map<string, number>()
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (message, from) => {
    const query = packet.decode(message)
    const question = query.questions?.[0]
    if (question === undefined) return
    const name = question.name.toLowerCase()
    asked.push(`${name} ${question.type}`)
    const key = `${name} ${question.type}`
    const count = counts.get(key) ?? 0
    counts.set(key, count + 1)
    const entry = names.get(name)
    const script = typeof entry === 'function' ? entry(count) : entry
    if (script?.silent) return
    const ttl = script?.ttl ?? 1
    const responses: Answer[] = []
    if (question.type === 'A')
      for (const data of script?.a ?? []) responses.push({ type: 'A', name: question.name, ttl, data })
    if (question.type === 'AAAA')
      for (const data of script?.aaaa ?? []) responses.push({ type: 'AAAA', name: question.name, ttl, data })
    const code = script === undefined ? RCODE.noSuchName : script.fail ? RCODE.serverFailure : RCODE.noError
    socket.send(
      packet.encode({
        type: 'response',
        ...(query.id === undefined ? {} : { id: query.id }),
        flags: packet.RECURSION_DESIRED | packet.RECURSION_AVAILABLE | code,
        questions: [question],
        answers: responses,
      }),
      from.port,
      from.address,
    )
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    port: socket.address().port,
    asked,
    set: (name, script) => {
      names.set(name.toLowerCase(), script)
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  }
}
