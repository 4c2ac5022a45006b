import { copyable } from '../../kit/copy.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { table } from '../../kit/table.ts'
import { pretty } from './call.ts'
import type { Sent } from './types.ts'

const isGood = (status: number): boolean => status < 400

/** A response as text. Nothing of it is shown in another way, whatever its type. */
export const responseView = (sent: Sent): TemplateResult => html`<p class="try-outcome">
    <span class="badge ${isGood(sent.status) ? 'good' : 'bad'}">${sent.status}</span>
    <span>${sent.destinationStatus === undefined ? 'by Sidevault; the destination sent no response' : `the destination sent ${sent.destinationStatus}`}</span>
    <span class="number">${sent.ms.toFixed(0)} ms</span>
    ${sent.traceId === undefined ? nothing : html`<span class="soft">Trace id ${copyable(sent.traceId, 'trace id')}</span>`}
  </p>
  <details>
    <summary>${sent.headers.length} headers</summary>
    ${table<Sent['headers'][number]>({
      caption: 'Headers of the response',
      rows: sent.headers,
      columns: [
        { head: 'Name', kind: 'code', cell: ([name]) => name },
        { head: 'Value', kind: 'wide', cell: ([, value]) => value },
      ],
    })}
    <p class="small soft">Headers by which a response would act on this page, such as cookies and redirects, do not reach it.</p>
  </details>
  <pre class="try-body" tabindex="0" aria-label="Body of the response">${sent.isCut ? sent.text : pretty(sent.text)}</pre>
  ${sent.isCut ? html`<p class="small soft">Only the beginning of the body is shown.</p>` : nothing}`
