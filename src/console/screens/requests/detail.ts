import type { RequestEntry } from '../../api/types.ts'
import { copyable } from '../../kit/copy.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { bytes, count, milliseconds } from '../../kit/numbers.ts'
import { poll } from '../../kit/poll.ts'
import { errorLink } from '../../kit/problem.ts'
import { resource, show } from '../../kit/resource.ts'
import type { ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { facts } from '../../kit/section.ts'
import { exactTime, relativeTime } from '../../kit/time.ts'
import { traceStep } from '../../kit/trace-step.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { KINDS } from './filters.ts'
import { outcomeBadge } from './outcome.ts'
import { loadRemedy } from './remedy.ts'
import { sentenceOf } from './sentence.ts'
import { stageBar, stagesOf } from './stages.ts'
import { type Step, stepsOf, stepTime } from './steps.ts'

/** ms between two looks whether a call has ended. */
const POLL_MS = 3_000

/** ms by which the clocks of a call and of its records may differ. */
const AROUND_MS = 10

/** The audit records of the time of a call. */
const auditHash = ({ at, duration_ms }: RequestEntry): string =>
  hashOf('/audit', {
    start_date: new Date(Date.parse(at) - duration_ms - AROUND_MS).toISOString(),
    end_date: new Date(Date.parse(at) + AROUND_MS).toISOString(),
  })

const party = (
  entity: RequestEntry['proxy'],
  hash: string,
  permission: string,
): TemplateResult | undefined =>
  entity === undefined
    ? undefined
    : entity.name === undefined
      ? html`<code>${entity.id}</code> <span class="soft">deleted</span>`
      : may(permission)
        ? html`<a href=${hash}>${entity.name}</a>`
        : html`${entity.name}`

const metadata = (call: RequestEntry): TemplateResult =>
  facts([
    ['Outcome', outcomeBadge(call)],
    ['Time', html`${exactTime(call.at)} <span class="soft">(${relativeTime(call.at)})</span>`],
    ['Kind', KINDS[call.kind] ?? call.kind],
    [
      'Application',
      party(call.application, link`/applications/${call.application?.id ?? ''}`, 'application:read'),
    ],
    ['Proxy', party(call.proxy, link`/proxies/${call.proxy?.id ?? ''}`, 'proxy:read')],
    ['Destination', call.host],
    ["Destination's status", call.destination_status],
    ['Tokens', count(call.tokens)],
    ['Request', call.request_bytes === undefined ? undefined : bytes(call.request_bytes)],
    ['Response', call.response_bytes === undefined ? undefined : bytes(call.response_bytes)],
    ['Process', html`<code>${call.node}</code>`],
    ['Trace id', copyable(call.trace_id, 'trace id')],
  ])

const stepItem = (step: Step): TemplateResult =>
  traceStep({
    title: step.title,
    state: step.state,
    ...(step.state === 'failed' ? { badge: ['bad', 'Ended here'] } : {}),
    time: stepTime(step),
    body: html`<p class="soft">${step.text}</p>`,
  })

const times = (call: RequestEntry): TemplateResult => html`<table class="stage-table">
  <caption class="visually-hidden">Time by stage</caption>
  <tbody>
    ${stagesOf(call).map(
      ({ name, label, ms }) => html`<tr>
        <th scope="row"><span class=${`swatch stage-${name}`} aria-hidden="true"></span>${label}</th>
        <td class="number">${milliseconds(ms)}</td>
      </tr>`,
    )}
    <tr><th scope="row">Together</th><td class="number">${milliseconds(call.duration_ms)}</td></tr>
    ${call.total_ms === undefined ? nothing : html`<tr><th scope="row">To the last byte</th><td class="number">${milliseconds(call.total_ms)}</td></tr>`}
  </tbody>
</table>`

export const openDetail = (context: ScreenContext): ScreenInstance => {
  const { api, params, signal } = context
  const loaded = resource(async (signal, background) => {
    const query = { id: params.id, console: true }
    const options = { query, signal, background }
    const [call] = (await api.call<ListResponse<RequestEntry>>('GET', '/requests', options)).data
    if (call !== undefined) context.title(sentenceOf(call))
    return call
  }, signal)
  poll(POLL_MS, () => loaded.value.peek()?.outcome === 'sent' && loaded.refresh(), signal)
  const remedy = resource(async () => {
    const code = loaded.value.value?.code
    return code === undefined ? undefined : loadRemedy(code)
  }, signal)

  const failure = ({ code }: RequestEntry): TemplateResult | typeof nothing =>
    code === undefined
      ? nothing
      : html`<div class="problem">
          <h2>${errorLink(code)}</h2>
          <p>${remedy.value.value ?? 'The documentation of this code says why, and what to do.'}</p>
        </div>`

  return {
    actions: () => html`<a class="button" href="#/requests">All requests</a>`,
    view: () =>
      show(loaded, (call) =>
        call === undefined
          ? html`<div class="empty">
              <p>This call is not among those of this node. Each process retains its newest 10,000, until it restarts.</p>
              <p><a href="#/requests">All requests</a></p>
            </div>`
          : html`${failure(call)}
              <div class="request">
                <section aria-labelledby="steps">
                  <h2 id="steps">Step by step</h2>
                  <ol class="steps">${stepsOf(call).map(stepItem)}</ol>
                </section>
                <section aria-labelledby="facts">
                  <h2 id="facts">Metadata</h2>
                  <div class="card">${metadata(call)}</div>
                </section>
                <section aria-labelledby="times">
                  <h2 id="times">Time</h2>
                  <div class="card">${stageBar(call, call.duration_ms)} ${times(call)}</div>
                </section>
                <section aria-labelledby="records">
                  <h2 id="records">Audit records</h2>
                  <div class="card">
                    <p>The audit log is searched by time, so records of other calls at that time are included.</p>
                    <p><a href=${auditHash(call)}>Audit records of this time</a></p>
                  </div>
                </section>
              </div>`,
      ),
  }
}
