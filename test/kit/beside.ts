import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { CallOptions, Response, TestService } from './service.ts'

const CHILD = fileURLToPath(new URL('./beside-process.ts', import.meta.url))

/** The first message to the process of the second service. */
export interface Beginning {
  readonly directory: string
  readonly location: string
  readonly tenantId: string
  readonly managementKey: string
  /** Time of its clock, which no test moves. */
  readonly now: number
}

type Join = (tenantId: string, invitation: string, user: string) => Promise<string>

export type Question = { readonly number: number } & (
  | { readonly kind: 'call'; readonly method: string; readonly path: string; readonly sent: CallOptions }
  | { readonly kind: 'join'; readonly args: Parameters<Join> }
)

export interface Reply {
  readonly number: number
  readonly value?: unknown
  readonly error?: { readonly code: string; readonly message: string }
}

/** A second service on the database, keys and tenants of `service`, in a process of its own. It ends with the test. */
export const startBeside = async (t: Test, service: TestService) => {
  const child = fork(CHILD, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], serialization: 'advanced' })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    if (child.connected) child.disconnect()
    await ended
  })
  const waiting = new Map<number, (reply: Reply) => void>()
  child.on('message', (reply: Reply) => {
    waiting.get(reply.number)?.(reply)
    waiting.delete(reply.number)
  })
  child.on('exit', () => {
    const error = { code: 'ended', message: 'The process of the second service has ended.' }
    for (const [number, settle] of waiting) settle({ number, error })
  })
  let last = 0
  const responded = async (number: number): Promise<unknown> => {
    const { value, error } = await new Promise<Reply>((resolve) => waiting.set(number, resolve))
    if (error) throw Object.assign(new Error(error.message), { code: error.code })
    return value
  }

  const beginning: Beginning = {
    directory: service.directory,
    location: service.location,
    tenantId: service.tenantId,
    managementKey: service.managementKey,
    now: service.clock.now(),
  }
  child.send(beginning)
  await responded(0)

  return {
    pid: child.pid,
    call: (method: string, path: string, sent: CallOptions = {}): Promise<Response> => {
      const number = ++last
      child.send({ number, kind: 'call', method, path, sent })
      return responded(number) as Promise<Response>
    },
    /** `members.join`, which no operation calls. */
    join: (...args: Parameters<Join>): Promise<string> => {
      const number = ++last
      child.send({ number, kind: 'join', args })
      return responded(number) as Promise<string>
    },
  }
}
