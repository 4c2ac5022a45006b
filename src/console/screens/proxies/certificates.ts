import { button } from '../../kit/button.ts'
import { action, type Field, form, formAction, formProblem, readFields } from '../../kit/form.ts'
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

const FIELDS: readonly Field[] = [
  ['client_certificate', 'Client certificate', 'PEM chain, the leaf certificate first.'] as const,
  ['client_key', 'Client key', 'PEM without a passphrase. It is never shown again.'] as const,
  ['ca', "Authorities for the destination's certificate", "PEM, in place of the service's."] as const,
].map(([name, label, hint]) => ({ name, label, hint, kind: 'code', place: `destination_tls.${name}` }))

/** Parts of `destination_tls` that are removed together. */
const REMOVED = { client: { client_certificate: null, client_key: null }, ca: { ca: null } } as const

/** `7f:3a:…`: the beginning, in pairs. */
const short = (fingerprint: string) => fingerprint.slice(0, 16).replace(/(..)(?=.)/g, '$1:')

/** Certificates for the destination, with their end. Keys and PEM texts are sent, and never come back. */
export const certificatesSection = ({ stored, patch }: ProxyPage): (() => TemplateResult) => {
  const save = formAction(async (data, element) => {
    const parts = readFields(FIELDS, data)
    if (Object.keys(parts).length === 0) return notice('info', 'Paste a certificate first.')
    await patch({ destination_tls: parts })
    notice('done', 'Certificates saved.')
    element.reset()
  })
  const remove = (which: keyof typeof REMOVED) =>
    action(async () => {
      const { client_certificate, ca } = stored.peek().destination_tls ?? {}
      const isLast = (which === 'client' ? ca : client_certificate) === undefined
      await patch({ destination_tls: isLast ? null : REMOVED[which] })
      notice('done', 'Certificate removed.')
    })
  const [removeClient, removeAuthorities] = [remove('client'), remove('ca')]

  return () => {
    const { client_certificate: own, ca = [] } = stored.value.destination_tls ?? {}
    const rows = [
      ...(own === undefined ? [] : [{ ...own, use: 'client' }]),
      ...ca.map((certificate) => ({ ...certificate, use: 'authority' })),
    ]
    const error = removeClient.error.value ?? removeAuthorities.error.value
    const removal = ({ busy, run }: typeof removeClient, label: string) =>
      button(label, run, { disabled: busy.value })
    return html`
      ${formProblem(error)}
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
                ${own === undefined ? nothing : removal(removeClient, 'Remove client certificate')}
                ${ca.length === 0 ? nothing : removal(removeAuthorities, 'Remove authorities')}
              </div>
              <details>
                <summary>${rows.length === 0 ? 'Add certificates' : 'Replace certificates'}</summary>
                ${form({ action: save, fields: FIELDS, submit: 'Save certificates' })}
              </details>`
          : nothing
      }
    `
  }
}
