import type { Test } from 'tap'
import { NotExpressible } from '../../src/admin/grpc/codec.ts'
import { startGrpc } from '../../src/admin/grpc/server.ts'
import { createLog } from '../../src/common/log.ts'
import { methodOf, pathOf, pathParams } from '../../src/kernel/check/operation.ts'
import type { Operation } from '../../src/sdk/index.ts'
import { createGrpcClient } from './grpc.ts'
import type { TestService } from './service.ts'

/** How a call ended, over either transport. */
interface Outcome {
  /** HTTP's; of a call over gRPC the status of its problem, 200 without one. */
  readonly status: number
  /** Paths that a validation failure names, as they are in the operation's input. */
  readonly paths: readonly string[]
  readonly detail: string
}

/** Calls an operation with an input, which need not be valid. Undefined when the transport cannot say it. */
type Caller = (
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  key?: string,
) => Promise<Outcome | undefined>

const queryOf = (members: Readonly<Record<string, unknown>>): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(members))
    for (const each of Array.isArray(value) ? value : [value])
      query.append(name, typeof each === 'object' ? JSON.stringify(each) : String(each))
  return query.size === 0 ? '' : `?${query}`
}

/** An operation's input as the request that HTTP has for it. */
export const requestOf = (operation: Operation, input: Readonly<Record<string, unknown>>) => {
  const method = methodOf(operation)
  const names = pathParams(pathOf(operation))
  const path = pathOf(operation).replaceAll(/\{([^}]*)\}/g, (_, name: string) =>
    encodeURIComponent(String(input[name])),
  )
  const rest = Object.fromEntries(Object.entries(input).filter(([name]) => !names.includes(name)))
  if (method === 'GET' || method === 'DELETE') return { method, path: path + queryOf(rest), body: undefined }
  return { method, path, body: operation.body === undefined ? rest : (rest[operation.body] ?? null) }
}

const anyKey = (key: string | undefined) => (key === undefined ? {} : { 'svc-api-key': key })

/** Every operation of a service by its input, over both transports. */
export const startCallers = async (
  t: Test,
  service: TestService,
): Promise<Readonly<Record<'http' | 'grpc', Caller>>> => {
  const { kernel, metrics, directory } = service
  const log = createLog('test', 'silent')
  const socketPath = `${directory}/grpc.sock`
  const server = await startGrpc({ kernel, metrics, log }, { socketPath })
  const client = createGrpcClient(`unix:${socketPath}`, kernel.registry.operations)
  t.teardown(async () => {
    client.close()
    await server.close()
  })
  return {
    http: async (operation, input, key) => {
      const { method, path, body } = requestOf(operation, input)
      const { status, json, text } = await service.call(method, path, {
        key: key ?? null,
        body: body === undefined ? undefined : JSON.stringify(body),
        headers: body === undefined ? {} : { 'content-type': 'application/json' },
      })
      return { status, paths: Object.keys(json?.errors ?? {}), detail: text }
    },
    grpc: async (operation, input, key) => {
      try {
        const { problem, message } = await client.call(operation.rpc, { ...input }, { metadata: anyKey(key) })
        return { status: problem?.status ?? 200, paths: Object.keys(problem?.errors ?? {}), detail: message }
      } catch (thrown) {
        if (thrown instanceof NotExpressible) return undefined
        throw thrown
      }
    },
  }
}
