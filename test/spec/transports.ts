import assert from 'node:assert/strict'
import { NotExpressible } from '../../src/admin/grpc/codec.ts'
import { startGrpc } from '../../src/admin/grpc/server.ts'
import { inputReader } from '../../src/admin/http/input.ts'
import type { FieldErrors } from '../../src/common/errors.ts'
import { createLog } from '../../src/common/log.ts'
import { methodOf, pathOf, pathParams, returnsNothing } from '../../src/kernel/check/operation.ts'
import { IF_MATCH, type Item, type Message } from '../../src/kernel/messages/model.ts'
import type { Operation } from '../../src/sdk/index.ts'
import { createGrpcClient } from '../kit/grpc.ts'
import type { TestService } from '../kit/service.ts'
import type { CallOptions, Response } from './api.ts'

/** The gRPC form of a call over HTTP. */
interface Mapped {
  readonly operation: Operation
  readonly input: Record<string, unknown>
}

const templateOf = (operation: Operation) => {
  const path = pathOf(operation)
  const names = pathParams(path)
  const pattern = new RegExp(`^${path.replaceAll(/[.]/g, '\\.').replaceAll(/\{[^}]*\}/g, '([^/]+)')}/?$`)
  return { operation, names, pattern, method: methodOf(operation) }
}

/** Finds the operation and the input of a request line; undefined for what only HTTP has. */
const createMapper = (operations: readonly Operation[]) => {
  const templates = operations.map(templateOf).sort((a, b) => a.names.length - b.names.length)
  return (method: string, target: string, body: unknown): Mapped | undefined => {
    const url = new URL(target, 'http://api.test')
    for (const { operation, names, pattern, method: own } of templates) {
      const found = own === method && pattern.exec(target.split('?', 1)[0]!)
      if (!found) continue
      const params = Object.fromEntries(
        names.map((name, index) => [name, decodeURIComponent(found[index + 1]!)]),
      )
      const reader = inputReader(operation)
      try {
        const sent = reader.takesBody ? body : undefined
        return { operation, input: reader.read({ params, query: url.searchParams, body: sent }) }
      } catch {
        return undefined
      }
    }
    return undefined
  }
}

/** Errors by the paths of HTTP: those of a member that is the complete body start inside it. */
const errorsOf = (errors: FieldErrors, body: string | undefined): FieldErrors =>
  body === undefined
    ? errors
    : Object.fromEntries(
        Object.entries(errors).map(([path, sentences]) => [
          ['', body].includes(path) ? 'body' : path.replace(new RegExp(`^${body}(?:\\.|(?=\\[))`), ''),
          sentences,
        ]),
      )

/** A response as proto3 can carry it: without empty optional lists and maps, and without messages that are null. */
const carried = (message: Message, object: Record<string, unknown>): Record<string, unknown> => {
  const item = (of: Item, value: unknown) =>
    of.kind === 'message' ? carried(of.message, value as Record<string, unknown>) : value
  const retained: Record<string, unknown> = {}
  for (const { name, shape, required } of message.fields) {
    const value = object[name]
    if (value === undefined || (value === null && shape.kind === 'message')) continue
    if (shape.kind === 'list') {
      const items = value as unknown[]
      if (required || items.length > 0) retained[name] = items.map((each) => item(shape.item, each))
    } else if (shape.kind === 'map') {
      const entries = Object.entries(value as object)
      if (required || entries.length > 0)
        retained[name] = Object.fromEntries(entries.map(([key, each]) => [key, item(shape.value, each)]))
    } else retained[name] = item(shape, value)
  }
  return retained
}

const JSON_TYPES = ['application/json', 'application/merge-patch+json']

/** Cursors differ from call to call. */
const comparable = (text: string) => text.replaceAll(/"next":"[^"]*"/g, '"next":"<cursor>"')

/** Calls that change nothing, and can be repeated to compare the responses of the other transport. */
const READING = new Set(['Tokens.Search', 'Tokens.SearchByCursor', 'Tokens.Detokenize'])

const isRepeatable = ({ http, rpc }: Operation, status: number) =>
  http.startsWith('GET ') || READING.has(rpc) || (status >= 400 && status !== 429)

/**
 * The same calls over gRPC: what HTTP says with method, path, query and body is the input of one operation. A response
 * gets the status and body that HTTP has for it, and of headers those that gRPC has too, besides what follows from the
 * declaration (Location, content type). Responses of calls that change nothing are compared with HTTP's own, in full.
 * Undefined is returned for calls that only HTTP can make: other methods and paths, bodies that are no JSON, values
 * that proto3 types exclude.
 */
export const startGrpcCalls = async (service: TestService) => {
  const socketPath = `${service.directory}/grpc.sock`
  const { kernel, metrics } = service
  const { operations } = kernel.registry
  const server = await startGrpc({ kernel, metrics, log: createLog('test', 'silent') }, { socketPath })
  const client = createGrpcClient(`unix:${socketPath}`, operations)
  const map = createMapper(operations)
  let made = 0
  let running = 0

  const over = async ({ operation, input }: Mapped, options: CallOptions): Promise<Response> => {
    const { 'if-match': ifMatch, ...headers } = options.headers ?? {}
    const metadata = { ...(options.key === undefined ? {} : { 'svc-api-key': options.key }), ...headers }
    const condition = ifMatch === undefined ? {} : { [IF_MATCH.name]: ifMatch }
    const response = await client.call(operation.rpc, { ...input, ...condition }, { metadata })
    const common = { ...response.metadata, 'content-type': 'application/json; charset=utf-8' }
    if (response.code !== 0) {
      const { problem } = response
      assert.ok(
        problem,
        `${operation.rpc}: a status of ${response.code} without a problem: ${response.message}`,
      )
      const { retry_after: retryAfter, left_out: _, ...rest } = problem
      const body = { ...rest, ...(rest.errors ? { errors: errorsOf(rest.errors, operation.body) } : {}) }
      const responded = retryAfter === undefined ? common : { ...common, 'retry-after': String(retryAfter) }
      return { status: problem.status, headers: responded, text: JSON.stringify(body), body }
    }
    const output = response.output ?? {}
    const status = operation.statusOf?.(output as never) ?? operation.status ?? 200
    if (returnsNothing(operation)) return { status, headers: response.metadata, text: '', body: undefined }
    const body = operation.responseBody === undefined ? output : output[operation.responseBody]
    const location = status === 201 && operation.location?.(output as never)
    const responded = location ? { ...common, location: `http://api.test${location}` } : common
    return { status, headers: responded, text: JSON.stringify(body), body }
  }

  const compare = (mapped: Mapped, ours: Response, theirs: Response) => {
    const { operation } = mapped
    const { rpc, responseBody } = operation
    assert.equal(theirs.status, ours.status, `${rpc}: status over HTTP`)
    const response = client.methods.get(rpc)!.method.response
    const body =
      theirs.status >= 400 || returnsNothing(operation)
        ? theirs.body
        : responseBody === undefined
          ? carried(response, theirs.body)
          : carried(response, { [responseBody]: theirs.body })[responseBody]
    assert.deepEqual(
      JSON.parse(comparable(JSON.stringify(ours.body ?? null))),
      JSON.parse(comparable(JSON.stringify(body ?? null))),
      `${rpc}: response over HTTP`,
    )
  }

  return {
    call: async (
      method: string,
      path: string,
      options: CallOptions,
      overHttp: () => Promise<Response>,
    ): Promise<Response | undefined> => {
      const type = options.headers?.['content-type'] ?? 'application/json'
      if (options.raw !== undefined || !JSON_TYPES.includes(type)) return undefined
      // As JSON has it: members that are undefined are not sent.
      const body = options.body === undefined ? undefined : JSON.parse(JSON.stringify(options.body))
      const mapped = map(method, path, body)
      if (mapped === undefined) return undefined
      running++
      try {
        const response = await over(mapped, options)
        made++
        if (running === 1 && !options.once && isRepeatable(mapped.operation, response.status))
          compare(mapped, response, await overHttp())
        return response
      } catch (thrown) {
        if (thrown instanceof NotExpressible) return undefined
        throw thrown
      } finally {
        running--
      }
    },
    /** Calls made over gRPC so far. */
    made: () => made,
    close: async () => {
      client.close()
      await server.close()
    },
  }
}
