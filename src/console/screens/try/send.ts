import type { Api } from '../../api/client.ts'
import { problemOf, traceIdOf } from '../../api/problem.ts'
import { copyable } from '../../kit/copy.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { Revealed } from '../../kit/revealed.ts'
import { type ProxyRequest, prettyJson } from './call.ts'
import type { DryRun, ProxyResponse } from './types.ts'

/** Bytes of a response that are read. */
const MAX_BYTES = 512 * 1024

const call = (api: Api, { method, path, headers, body }: ProxyRequest, signal: AbortSignal) =>
  api.raw(method, path, { headers, ...(body === undefined ? {} : { body }), signal })

/** Makes a dry run. Throws `ApiError` for a call that would be denied before its body is read. */
export const dryRun = async (api: Api, request: ProxyRequest, signal: AbortSignal): Promise<DryRun> => {
  const response = await call(api, request, signal)
  if (!response.ok) throw await problemOf(response)
  return (await response.json()) as DryRun
}

/** The beginning of a body as text, whatever its type. */
const beginning = async (
  body: Response['body'],
): Promise<{ readonly text: string; readonly isCut: boolean }> => {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (let bytes = 0; reader !== undefined; ) {
    const { done, value } = await reader.read()
    if (done) break
    text += decoder.decode(value, { stream: true })
    bytes += value.length
    if (bytes < MAX_BYTES) continue
    await reader.cancel()
    return { text, isCut: true }
  }
  return { text: text + decoder.decode(), isCut: false }
}

/**
 * Sends a call. Resolves to any response, errors of the destination and of Sidevault included, with its body and its
 * header lines as texts.
 */
export const send = async (
  api: Api,
  request: ProxyRequest,
  signal: AbortSignal,
): Promise<{
  readonly response: ProxyResponse
  readonly texts: readonly [body: string, headers: string]
}> => {
  const start = performance.now()
  const { status, headers, body } = await call(api, request, signal)
  const { text, isCut: isTruncated } = await beginning(body)
  const named = (end: string) => [...headers].find(([name]) => name.endsWith(end))?.[1]
  return {
    response: {
      status,
      destinationStatus: named('-proxy-destination-status'),
      outcome: named('-proxy-outcome'),
      isTruncated,
      ms: performance.now() - start,
      traceId: traceIdOf(headers),
    },
    texts: [
      isTruncated ? text : prettyJson(text),
      [...headers].map(([name, value]) => `${name}: ${value}\n`).join(''),
    ],
  }
}

export const statusBadge = ({ status }: ProxyResponse): TemplateResult =>
  html`<span class="badge ${status < 400 ? 'good' : 'bad'}">${status}</span>`

/** A response. Its texts are shown as texts, whatever their type, for as long as `revealed` shows them. */
export const responseView = (
  sent: ProxyResponse,
  revealed: Revealed,
): TemplateResult => html`<p class="try-outcome">
    <span>${sent.destinationStatus === undefined ? `by Sidevault; ${sent.outcome === 'unknown' ? 'the destination may have received the request' : 'nothing was sent'}` : `the destination sent ${sent.destinationStatus}`}</span>
    <span class="number">${sent.ms.toFixed(0)} ms</span>
    ${sent.traceId === undefined ? nothing : html`<span class="soft">Trace id ${copyable(sent.traceId, 'trace id')}</span>`}
  </p>
  ${
    revealed.left.value === undefined
      ? html`<p class="soft">Body and headers are hidden. Only another call shows them again.</p>`
      : html`${revealed.view()}
          <p class="small soft">
            ${sent.isTruncated ? 'Only the beginning of the body is shown.' : nothing} Headers that would affect this page,
            such as cookies and redirects, are removed.
          </p>`
  }`
