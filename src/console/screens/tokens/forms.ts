import { type Api, path } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import type { Token } from '../../api/types.ts'
import { dialog } from '../../kit/dialog.ts'
import { field, formAction, formProblem, issue } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { exactTime, fromLocal, toLocal } from '../../kit/time.ts'
import { metadataPatch, metadataText, parseMetadata } from './input.ts'
import type { TokenDetail } from './types.ts'

/** Text of the control of that name. */
type Text = (name: string) => string
/** A field of a member, with what is wrong with the member or a part of it. */
export type Put = (
  member: string,
  label: string,
  hint: string | undefined,
  control: TemplateResult,
) => TemplateResult

interface FormDialog<T> {
  readonly title: string
  /** Label of the button. */
  readonly submit: string
  readonly fields: (put: Put) => TemplateResult
  /** Sends what the controls hold. What it throws is shown at its members. */
  readonly send: (text: Text) => Promise<T>
}

/** A form in a dialog. What is typed lives in its controls only. Undefined: it was canceled. */
export const formDialog = <T>({ title, submit, fields, send }: FormDialog<T>): Promise<T | undefined> => {
  let close = (_value?: T) => {}
  const { run, busy, error } = formAction(async (values) =>
    close(await send((name) => String(values.get(name) ?? ''))),
  )
  return dialog<T>({
    title,
    body: (end) => {
      close = end
      const places = Object.keys(error.value?.issues ?? {})
      const shown: string[] = []
      const controls = fields((member, label, hint, control) => {
        const own = places.filter((place) => place.replace(/[.[].*/s, '') === member)
        shown.push(...own)
        const sentences = own.map((place) =>
          `${place.slice(member.length + 1)} ${issue(error.value, place)}`.trim(),
        )
        return field({ label, control, error: sentences.join('; '), ...(hint === undefined ? {} : { hint }) })
      })
      const isShown = places.length > 0 && places.every((place) => shown.includes(place))
      return html`<form @submit=${run}>
        ${controls} ${isShown ? nothing : formProblem(error.value, shown)}
        <div class="buttons">
          <button type="button" @click=${() => end()}>Cancel</button>
          <button class="primary" ?disabled=${busy.value}>${submit}</button>
        </div>
      </form>`
    },
  })
}

export const metadataField = (put: Put, metadata: Token['metadata'] = {}): TemplateResult =>
  put(
    'metadata',
    'Metadata',
    'One entry a line: key: value. It is stored in clear text: no sensitive data here.',
    html`<textarea
      name="metadata"
      rows="4"
      spellcheck="false"
      placeholder="order: 1001"
      .defaultValue=${metadataText(metadata)}
    ></textarea>`,
  )

/** A form that changes a token. */
export interface TokenForm {
  readonly title: string
  readonly submit: string
  /** Label of the button that opens it. */
  readonly label: string
  /** Text of the notice. */
  readonly done: string
  readonly fields: (put: Put, token: TokenDetail) => TemplateResult
  /** The body of `PATCH /tokens/{id}`. */
  readonly body: (text: Text, token: TokenDetail) => object
}

export const EXPIRY: TokenForm = {
  title: 'Set the expiry',
  submit: 'Set expiry',
  label: 'Set expiry …',
  done: 'The expiry is set.',
  fields: (put, { expires_at }) => html`<p>
      ${expires_at === undefined ? 'This token never expires.' : `This token expires on ${exactTime(expires_at)}.`}
      When it expires it is gone as if it were deleted.
    </p>
    ${put(
      'expires_at',
      'Expires',
      'In your time zone. Leave it empty for a token that never expires.',
      html`<input name="at" type="datetime-local" .defaultValue=${toLocal(expires_at)} />`,
    )}`,
  body: (text, { expires_at }) => ({ expires_at: fromLocal(text('at'), expires_at) ?? null }),
}

export const METADATA: TokenForm = {
  title: 'Edit metadata',
  submit: 'Save',
  label: 'Edit metadata …',
  done: 'Metadata is saved.',
  fields: (put, { metadata }) => metadataField(put, metadata),
  body: (text, { metadata = {} }) => ({ metadata: metadataPatch(metadata, parseMetadata(text('metadata'))) }),
}

/**
 * Changes a token by a form; true when it was changed. The response is not read: the rule of `token:update` may reveal
 * the value.
 */
export const changeToken = async (api: Api, token: TokenDetail, form: TokenForm): Promise<boolean> => {
  const isChanged = await formDialog({
    ...form,
    fields: (put) => form.fields(put, token),
    send: async (text) => {
      const response = await api.raw('PATCH', path`/tokens/${token.id}`, { body: form.body(text, token) })
      if (!response.ok) throw await problemOf(response)
      await response.body?.cancel()
      return true
    },
  })
  return isChanged === true
}
