import type { Api } from '../../api/client.ts'
import { problemOf, traceIdOf } from '../../api/problem.ts'
import { copyable } from '../../kit/copy.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { table } from '../../kit/table.ts'
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
const beginning = async ({ body }: Response): Promise<{ readonly text: string; readonly isCut: boolean }> => {
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

/** Sends a call. Resolves to any response, errors of the destination and of Sidevault included. */
export const send = async (api: Api, request: ProxyRequest, signal: AbortSignal): Promise<ProxyResponse> => {
  const start = performance.now()
  const response = await call(api, request, signal)
  const headers = [...response.headers]
  const { text, isCut: isTruncated } = await beginning(response)
  const ms = performance.now() - start
  const destinationStatus = headers.find(([name]) => name.endsWith('-proxy-destination-status'))?.[1]
  return {
    status: response.status,
    destinationStatus,
    outcome: headers.find(([name]) => name.endsWith('-proxy-outcome'))?.[1],
    headers,
    text,
    isTruncated,
    ms,
    traceId: traceIdOf(response.headers),
  }
}

const isGood = (status: number): boolean => status < 400

/** A response as text. Nothing of it is shown in another way, whatever its type. */
export const responseView = (sent: ProxyResponse): TemplateResult => html`<p class="try-outcome">
    <span class="badge ${isGood(sent.status) ? 'good' : 'bad'}">${sent.status}</span>
    <span>${sent.destinationStatus === undefined ? `by Sidevault; ${sent.outcome === 'unknown' ? 'the destination may have received the request' : 'nothing was sent'}` : `the destination sent ${sent.destinationStatus}`}</span>
    <span class="number">${sent.ms.toFixed(0)} ms</span>
    ${sent.traceId === undefined ? nothing : html`<span class="soft">Trace id ${copyable(sent.traceId, 'trace id')}</span>`}
  </p>
  <details>
    <summary>${sent.headers.length} headers</summary>
    ${table<ProxyResponse['headers'][number]>({
      caption: 'Headers of the response',
      rows: sent.headers,
      columns: [
        { head: 'Name', kind: 'code', cell: ([name]) => name },
        { head: 'Value', kind: 'wide', cell: ([, value]) => value },
      ],
    })}
    <p class="small soft">Headers that would affect this page, such as cookies and redirects, are removed.</p>
  </details>
  <pre class="try-body" tabindex="0" aria-label="Body of the response">${sent.isTruncated ? sent.text : prettyJson(sent.text)}</pre>
  ${sent.isTruncated ? html`<p class="small soft">Only the beginning of the body is shown.</p>` : nothing}`
