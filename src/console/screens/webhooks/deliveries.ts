import { path } from '../../api/client.ts'
import { button } from '../../kit/button.ts'
import type { EntityPage } from '../../kit/entity-screen.ts'
import { action } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { listOf, showList } from '../../kit/list.ts'
import { notice } from '../../kit/notice.ts'
import { poll } from '../../kit/poll.ts'
import { problem } from '../../kit/problem.ts'
import { table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
import type { Delivery, Webhook } from './types.ts'

const POLL_MS = 5_000

const KINDS = { pending: 'warn', delivered: 'good', failed: 'bad' } as const

const outcomeOf = ({ last_attempt }: Delivery): string =>
  last_attempt === undefined ? 'not sent yet' : String(last_attempt.status ?? last_attempt.error)

/** What was sent to a webhook, and buttons that send: a ping, and a delivery again. */
export const deliveriesSection = ({ context, path: where }: EntityPage<Webhook>): (() => TemplateResult) => {
  const { api, signal } = context
  const list = listOf<Delivery>({ ...context, path: `${where}/deliveries` })
  poll(POLL_MS, list.refresh, signal)
  let target = ''
  const send = action(async () => {
    const sent = await api.call<Delivery>('POST', target)
    const isDelivered = sent.status === 'delivered'
    notice(
      isDelivered ? 'done' : 'warning',
      `${isDelivered ? 'Delivered' : 'Not delivered'}: ${outcomeOf(sent)}.`,
    )
    list.reload()
  })
  const sendTo = (route: string) => () => {
    target = route
    void send.run()
  }
  const disabled = () => send.busy.value
  const again = ({ id, event_type }: Delivery) =>
    button('Send again', sendTo(`${where}/deliveries${path`/${id}`}/redeliver`), {
      name: `Send ${event_type} again`,
      disabled: disabled(),
    })
  return () => html`
    ${send.error.value === undefined ? nothing : problem(send.error.value)}
    ${
      may('webhook:update')
        ? html`<p class="buttons">
            ${button('Ping', sendTo(`${where}/ping`), { disabled: disabled() })}
            <span class="soft">Sends one event of the type <code>webhook.pinged</code>.</span>
          </p>`
        : nothing
    }
    ${showList(list, (rows) =>
      table({
        caption: 'Deliveries',
        rows,
        key: ({ id }) => id,
        columns: [
          { head: 'Event', kind: 'code', cell: ({ event_type }) => event_type },
          {
            head: 'Status',
            cell: ({ status }) => html`<span class=${`badge ${KINDS[status]}`}>${status}</span>`,
          },
          { head: 'Response', cell: outcomeOf },
          { head: 'Sent', cell: ({ last_attempt }) => relativeTime(last_attempt?.at) },
          { head: 'Attempts', kind: 'number', cell: ({ attempts }) => attempts },
          { head: 'Next', cell: ({ next_attempt_at }) => relativeTime(next_attempt_at) },
          ...(may('webhook:update') ? [{ head: 'Actions', cell: again }] : []),
        ],
        empty: 'Nothing was sent in the last seven days.',
      }),
    )}
  `
}
