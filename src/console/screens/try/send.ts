import type { Api } from '../../api/client.ts'
import { traceIdOf } from '../../api/problem.ts'
import { copyable } from '../../kit/copy.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import type { Revealed } from '../../kit/revealed.ts'
import { prettyJson, type requestOf } from './call.ts'

/** Characters of a response that are read. */
const MAX_CHARACTERS = 512 * 1024

/** The beginning of a body as text, whatever its type. */
const beginning = async ({ body }: Response): Promise<string> => {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (text.length <= MAX_CHARACTERS) {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done) return text
    text += value
  }
  await reader?.cancel()
  return text
}

/** Who made the response. */
const originOf = (headers: Headers): string => {
  const named = (end: string) => [...headers].find(([name]) => name.endsWith(end))?.[1]
  const status = named('-proxy-destination-status')
  if (status !== undefined) return `the destination sent ${status}`
  const isUnknown = named('-proxy-outcome') === 'unknown'
  return `by Sidevault; ${isUnknown ? 'the destination may have received the request' : 'nothing was sent'}`
}

/**
 * Sends a call. Resolves to any response, errors of the destination and of Sidevault included; then its body and its
 * header lines as texts, which may hold values.
 */
export const send = async (api: Api, request: ReturnType<typeof requestOf>, signal: AbortSignal) => {
  const start = performance.now()
  const response = await api.raw(request.method, request.path, { ...request, signal })
  const { status, headers } = response
  const text = await beginning(response)
  const isCut = text.length > MAX_CHARACTERS
  const ms = performance.now() - start
  return [
    { status, origin: originOf(headers), isCut, ms, traceId: traceIdOf(headers) },
    isCut ? text : prettyJson(text),
    [...headers].map(([name, value]) => `${name}: ${value}\n`).join(''),
  ] as const
}

type Sent = Awaited<ReturnType<typeof send>>[0]

/** A response. Its texts are shown as texts, whatever their type, for as long as `revealed` shows them. */
export const responseView = (sent: Sent, revealed: Revealed): TemplateResult => html`<p class="inline">
    <span>${sent.origin}</span>
    <span class="number">${sent.ms.toFixed(0)} ms</span>
    ${sent.traceId && html`<span class="soft">Trace id ${copyable(sent.traceId, 'trace id')}</span>`}
  </p>
  ${
    revealed.left.value === undefined
      ? html`<p class="soft">Body and headers are hidden. Only another call shows them again.</p>`
      : html`${revealed.view()}
          <p class="small soft">
            ${sent.isCut ? 'Only the beginning of the body is shown.' : ''} Headers that would affect this page,
            such as cookies and redirects, are removed.
          </p>`
  }`
