import { type Api, path } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import { field } from '../../kit/form.ts'
import { html } from '../../kit/html.ts'
import { exactTime, fromLocal, toLocal } from '../../kit/time.ts'
import { formDialog } from './form-dialog.ts'
import { metadataField } from './metadata-field.ts'
import { metadataPatch, parseMetadata } from './metadata-text.ts'
import type { TokenDetail } from './types.ts'

/** Changes a token. The response is not read: the rule of `token:update` may reveal the value. */
const patch = async (api: Api, id: string, body: object): Promise<true> => {
  const response = await api.raw('PATCH', path`/tokens/${id}`, { body })
  if (!response.ok) throw await problemOf(response)
  await response.body?.cancel()
  return true
}

/** Asks for the end of a token; true when it was changed. */
export const editExpiry = async (api: Api, { id, expires_at }: TokenDetail): Promise<boolean> =>
  (await formDialog({
    title: 'Set the expiry',
    submit: 'Set expiry',
    fields: (sentence) => html`<p>
        ${expires_at === undefined ? 'This token never expires.' : `This token expires on ${exactTime(expires_at)}.`} When it
        expires it is gone as if it were deleted.
      </p>
      ${field({
        label: 'Expires',
        hint: 'In your time zone. Leave it empty for a token that never expires.',
        error: sentence('expires_at'),
        control: html`<input
          name="at"
          type="datetime-local"
          .defaultValue=${toLocal(expires_at)}
        />`,
      })}`,
    send: (text) => patch(api, id, { expires_at: fromLocal(text('at'), expires_at) ?? null }),
  })) === true

/** Asks for other metadata; true when it was changed. */
export const editMetadata = async (api: Api, { id, metadata = {} }: TokenDetail): Promise<boolean> =>
  (await formDialog({
    title: 'Edit metadata',
    submit: 'Save',
    fields: (sentence) => metadataField(sentence('metadata'), metadata),
    send: async (text) =>
      patch(api, id, { metadata: metadataPatch(metadata, parseMetadata(text('metadata'))) }),
  })) === true
