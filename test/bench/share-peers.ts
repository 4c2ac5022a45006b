/**
 * The processes behind the Envoys of `envoy-share.ts`, which do as little as they can: `node share-peers.ts <directory>
 * <authority>`. A processor for each kind of replies, on `<kind>.sock`; the log of calls, `log.sock`; an API,
 * `api.sock`.
 */
import { createServer } from 'node:net'
import { join } from 'node:path'
import { listen } from '../../src/ext-proc/listen.ts'
import type { Phase } from '../../src/gateway/encode-reply.ts'
import type { ExtProcReply } from '../../src/gateway/types.ts'
import { encodeResponse, type ProcessingResponse, responseMessage } from '../kit/ext-proc.ts'
import { bodyWith } from './proxy.ts'

const [directory = '', authority = ''] = process.argv.slice(2)
const LIMITS = { messageBytes: 1_048_576, calls: 10_000 }

const body = Buffer.from(bodyWith('4242424242424242', 1_000))
const prefix = 'svc'
/** As long as the gateway's, with the ids of the call. */
const mark = { worker: '0', call: 'x'.repeat(160) }
const set = new Map([
  [':authority', authority],
  [':path', '/charge'],
  ['svc-trace-id', '0fb4b8a6-6a3e-4f4e-9a3f-1f1b5f0f6d5e'],
])
const remove = ['svc-api-key', 'svc-proxy-url', 'x-sidevault-client-address']
const upstream = 'https'
const length = new Map([['content-length', String(body.length)]])
const held: ExtProcReply = { kind: 'buffered', prefix, edits: { set, remove }, mark }
const released: ExtProcReply = {
  kind: 'continue',
  prefix,
  upstream,
  edits: { set: length, remove: [] },
  body,
}

type Change = (message: ProcessingResponse, phase: 'request_headers' | 'request_body') => object

const oneChoice: Change = (message, phase) => ({
  ...message,
  [phase]: { response: { ...message[phase]?.response, clear_route_cache: false } },
})
const noMetadata: Change = (message) => ({ ...message, dynamic_metadata: undefined })

/** Replies of the kind to headers and body. */
const KINDS: Readonly<Record<string, Change>> = {
  complete: (message) => message,
  'one-choice': oneChoice,
  'no-metadata': noMetadata,
  nothing: (message, phase) => noMetadata(oneChoice(message, phase), phase),
}

/** After each message, the replies at its place. */
const serve = (kind: string, replies: readonly (readonly Buffer[])[]) =>
  listen(
    join(directory, `${kind}.sock`),
    (call) => {
      let messages = 0
      return {
        message: () => {
          for (const reply of replies[messages++] ?? []) call.send(reply)
        },
        end: () => call.end(),
        gone: () => {},
      }
    },
    LIMITS,
  )
const encoded = (reply: ExtProcReply, phase: Phase): Buffer => encodeResponse(responseMessage(reply, phase))

for (const [kind, change] of Object.entries(KINDS))
  await serve(kind, [
    [encodeResponse(change(responseMessage(held, 'request_headers'), 'request_headers'))],
    [encodeResponse(change(responseMessage(released, 'request_body'), 'request_body'))],
  ])
// The body comes in one piece, and both replies behind it.
const head: ExtProcReply = {
  ...{ kind: 'continue', prefix, upstream, mark },
  edits: { set, remove: [...remove, 'content-length'] },
}
await serve('duplex', [
  [],
  [encoded(head, 'request_headers'), encoded({ kind: 'streamed', body, isLast: true }, 'request_body')],
])
await serve('log', [])

const content = JSON.stringify({ id: '0fb4b8a6-6a3e-4f4e-9a3f-1f1b5f0f6d5e', data: 'x'.repeat(300) })
const response = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json; charset=utf-8\r\nsvc-trace-id: 1\r\ncontent-length: ${content.length}\r\n\r\n${content}`,
)
// A GET comes at once.
createServer((socket) => socket.on('data', () => socket.write(response)).on('error', () => {})).listen(
  join(directory, 'api.sock'),
  () => process.stdout.write('ready\n'),
)
