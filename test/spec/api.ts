import type { Test } from 'tap'
import { openApi } from '../../src/admin/openapi/document.ts'
import { isoTime } from '../../src/common/clock.ts'
import { createResponseCheck } from '../kit/responses.ts'
import { type ServiceOptions, startTestService, testClock } from '../kit/service.ts'
import { startGrpcCalls } from './transports.ts'

export interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  readonly body: any
}

export interface CallOptions {
  /** None: the call is made without a key. */
  readonly key?: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is, as JSON unless the headers say otherwise. */
  readonly raw?: string
  readonly headers?: Readonly<Record<string, string>>
  /** It leaves traces that the test counts, so it is not repeated over the other transport to compare responses. */
  readonly once?: boolean
}

/** As JSON has it: members that are undefined are not sent. */
const asSent = (body: unknown): unknown => (body === undefined ? undefined : JSON.parse(JSON.stringify(body)))

/** Compiled once for all files of a process, whose services have the same operations. */
let check: ReturnType<typeof createResponseCheck> | undefined

/**
 * The management API as the specification's callers see it; a test service behind it, gone when the test ends. Every
 * response matches /openapi.json. In `*.grpc.test.ts` calls are made over gRPC, and those that read or fail also over
 * HTTP, without a connection, as behind the edge (transports.ts). Where headers of HTTP or the store are the subject,
 * the file is a `*.stores.test.ts`: it also makes every call over HTTP, on the direct listener and SQLite.
 */
export const startApi = async (t: Test, options: Pick<ServiceOptions, 'configs'> = {}) => {
  const clock = testClock()
  const grpc = process.env.SPEC_TRANSPORT === 'grpc'
  const direct = { host: '127.0.0.1', port: 0 }
  const service = await startTestService(t, { clock, ...options, ...(grpc ? {} : { admin: { direct } }) })
  const management = service.managementKey
  check ??= createResponseCheck(openApi(service.kernel.registry, { prefix: 'SVC', version: '0.0.0' }))
  const checked = check

  const overGrpc = grpc ? await startGrpcCalls(service) : undefined
  if (overGrpc)
    t.teardown(async () => {
      await overGrpc.close()
      if (overGrpc.made() === 0) throw new Error('no call of this file was made over gRPC')
    })

  const call = async (method: string, path: string, options: CallOptions = {}): Promise<Response> => {
    const response = await overGrpc?.call(method, path, options, () => callHttp(method, path, options))
    if (response === undefined) return callHttp(method, path, options)
    checked(method, path, response, asSent(options.body))
    return response
  }

  const callHttp = async (method: string, path: string, options: CallOptions): Promise<Response> => {
    const { key = null, body, raw, headers = {} } = options
    const text = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const json = text === undefined ? {} : { 'content-type': 'application/json' }
    const response = await service.call(method, path, { key, body: text, headers: { ...json, ...headers } })
    checked(method, path, response, asSent(body))
    return { status: response.status, headers: response.headers, text: response.text, body: response.json }
  }

  const applicationBy =
    (managementKey: string) =>
    async (
      type: string,
      permissions: readonly string[],
      rules: readonly object[] = [],
      more: object = {},
    ): Promise<{ id: string; key: string }> => {
      const { status, text, body } = await call('POST', '/applications', {
        key: managementKey,
        body: { name: 'spec', type, permissions, rules, ...more },
      })
      if (status !== 201) throw new Error(text)
      return { id: body.id, key: body.key }
    }
  const application = applicationBy(management)

  return {
    /** Key of the tenant's first management application. */
    management,
    /** Stands still until it is moved. */
    clock,
    /** The clock's time as the API prints it. */
    time: () => isoTime(clock.now()),
    /** The test service behind the API, for what its callers cannot see. */
    service,
    call,
    application,
    /** Key of a private application to which everything is revealed. */
    revealing: async (): Promise<string> => {
      const permissions = ['token:read']
      const rule = { description: 'reveal', priority: 1, container: '/', transform: 'reveal', permissions }
      return (await application('private', [], [rule])).key
    },
    /** Another tenant's management key, and keys of its private applications. */
    otherTenant: async () => {
      const { key } = await service.newTenant('Other')
      const other = applicationBy(key)
      return {
        key,
        application: async (permissions: readonly string[]) => (await other('private', permissions)).key,
      }
    },
  }
}
