import { action, field, formAction, formProblem, issue } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { notice } from '../../kit/notice.ts'
import { table } from '../../kit/table.ts'
import { now, relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
import type { Certificate, ProxyPage } from './types.ts'

/** ms before the end of a certificate from which it is marked. */
const SOON_MS = 30 * 86_400_000

/** When a certificate ends, marked in words when it did or will soon. */
export const certificateExpiry = ({ expires_at }: Certificate): TemplateResult => {
  const left = Date.parse(expires_at) - now.value
  if (left <= 0) return html`<span class="badge bad">ended</span> ${relativeTime(expires_at)}`
  return left < SOON_MS
    ? html`<span class="badge warn">ends soon</span> ${relativeTime(expires_at)}`
    : html`ends ${relativeTime(expires_at)}`
}

const PARTS = {
  client_certificate: ['Client certificate', 'PEM chain, the leaf certificate first.'],
  client_key: ['Client key', 'PEM without a passphrase. It is never shown again.'],
  ca: ["Authorities for the destination's certificate", "PEM, in place of the service's."],
} as const

type Part = keyof typeof PARTS

const NAMES = Object.keys(PARTS) as Part[]

/** `7f:3a:…`: the beginning, in pairs. */
const short = (fingerprint: string) => fingerprint.slice(0, 16).replace(/(..)(?=.)/g, '$1:')

/** Certificates for the destination, with their end. Keys and PEM texts are sent, and never come back. */
export const certificatesSection = ({ stored, patch }: ProxyPage): (() => TemplateResult) => {
  const change = async (destination_tls: object | null, done: string) => {
    await patch({ destination_tls })
    notice('done', done)
  }
  const save = formAction(async (fields, form) => {
    const parts = NAMES.map((name) => [name, String(fields.get(name) ?? '').trim()] as const).filter(
      ([, text]) => text !== '',
    )
    if (parts.length === 0) return notice('info', 'Paste a certificate first.')
    await change(Object.fromEntries(parts), 'Certificates saved.')
    form.reset()
  })
  const remove = (which: 'client' | 'ca') =>
    action(() => {
      const { client_certificate, ca } = stored.peek().destination_tls ?? {}
      const isLast = which === 'client' ? ca === undefined : client_certificate === undefined
      const parts = which === 'client' ? { client_certificate: null, client_key: null } : { ca: null }
      return change(isLast ? null : parts, 'Certificate removed.')
    })
  const removals = { client: remove('client'), ca: remove('ca') }
  const actions = [save, removals.client, removals.ca]

  return () => {
    const { client_certificate: own, ca = [] } = stored.value.destination_tls ?? {}
    const rows: readonly (Certificate & { readonly use: string })[] = [
      ...(own === undefined ? [] : [{ ...own, use: 'client' }]),
      ...ca.map((certificate) => ({ ...certificate, use: 'authority' })),
    ]
    const error = actions.map((action) => action.error.value).find((thrown) => thrown !== undefined)
    const removal = (which: 'client' | 'ca', label: string) => html`<button
      type="button"
      ?disabled=${removals[which].busy.value}
      @click=${removals[which].run}
    >${label}</button>`
    return html`
      ${formProblem(
        error,
        NAMES.map((name) => `destination_tls.${name}`),
      )}
      ${table({
        caption: 'Certificates',
        rows,
        columns: [
          { head: 'Subject', cell: ({ subject }) => subject },
          { head: 'Use', cell: ({ use }) => html`<span class="badge">${use}</span>` },
          { head: 'End', cell: certificateExpiry },
          {
            head: 'SHA-256',
            kind: 'code',
            cell: ({ fingerprint }) => html`<span title=${fingerprint}>${short(fingerprint)}…</span>`,
          },
        ],
        empty: "None. The destination's certificate is checked against the service's authorities.",
      })}
      ${
        may('proxy:update')
          ? html`<div class="buttons">
                ${own === undefined ? nothing : removal('client', 'Remove client certificate')}
                ${ca.length === 0 ? nothing : removal('ca', 'Remove authorities')}
              </div>
              <details>
                <summary>${rows.length === 0 ? 'Add certificates' : 'Replace certificates'}</summary>
                <form
                  class="form disclosed"
                  autocomplete="off"
                  @submit=${save.run}
                >
                  ${NAMES.map((name) =>
                    field({
                      label: PARTS[name][0],
                      hint: PARTS[name][1],
                      error: issue(error, `destination_tls.${name}`),
                      control: html`<textarea name=${name} rows="4" spellcheck="false" autocomplete="off"></textarea>`,
                    }),
                  )}
                  <div class="buttons">
                    <button class="primary" ?disabled=${save.busy.value}>Save certificates</button>
                  </div>
                </form>
              </details>`
          : nothing
      }
    `
  }
}
