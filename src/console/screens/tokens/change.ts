import { type Api, path } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import { confirm, dialog } from '../../kit/dialog.ts'
import { action, field, formProblem, issue } from '../../kit/form.ts'
import { html, type TemplateResult } from '../../kit/html.ts'
import { exact } from '../../kit/time.ts'
import { metadataPatch, metadataText, parseMetadata } from './metadata-text.ts'
import type { TokenDetail } from './types.ts'

/** Changes a token. The response is not read: the rule of `token:update` may reveal the value. */
const patch = async (api: Api, id: string, body: object): Promise<void> => {
  const response = await api.raw('PATCH', path`/tokens/${id}`, { body })
  if (!response.ok) throw await problemOf(response)
  await response.body?.cancel()
}

interface EditOptions {
  readonly title: string
  readonly submit: string
  /** Controls of the form; `sentence` is of the member. */
  readonly fields: (sentence: (member: string) => string | undefined) => TemplateResult
  /** Members of `issues` that `fields` shows. */
  readonly members: readonly string[]
  /** The change, or what is wrong with the input. */
  readonly bodyOf: (form: FormData) => object | string
}

/** A dialog that changes a token; true when it did. */
const edit = async (api: Api, id: string, options: EditOptions): Promise<boolean> => {
  let form: HTMLFormElement | undefined
  let wrong: string | undefined
  const [place = ''] = options.members
  const send = action(async () => {
    const body = options.bodyOf(new FormData(form))
    wrong = typeof body === 'string' ? body : undefined
    if (typeof body === 'string') return
    await patch(api, id, body)
    done(true)
  })
  let done = (_changed?: boolean) => {}
  const changed = await dialog<boolean>({
    title: options.title,
    body: (close) => {
      done = close
      const isBusy = send.busy.value
      const error = send.error.value
      return html`<form
        @submit=${(event: SubmitEvent) => {
          form = event.currentTarget as HTMLFormElement
          void send.run(event)
        }}
      >
        ${options.fields((member) => (member === place ? (wrong ?? issue(error, member)) : issue(error, member)))}
        ${formProblem(error, options.members)}
        <div class="buttons">
          <button type="button" @click=${() => close(false)}>Cancel</button>
          <button class="primary" ?disabled=${isBusy}>${options.submit}</button>
        </div>
      </form>`
    },
  })
  return changed === true
}

/** `2030-01-31T12:00`, as the browser's zone has it. */
const localTime = (ms: number): string => {
  const date = new Date(ms)
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** Asks for the end of a token. */
export const editExpiry = (api: Api, { id, expires_at }: TokenDetail): Promise<boolean> =>
  edit(api, id, {
    title: 'Set the expiry',
    submit: 'Set expiry',
    members: ['expires_at'],
    fields: (sentence) => html`<p>
        ${expires_at === undefined ? 'This token never expires.' : `This token expires on ${exact(expires_at)}.`} When it expires it
        is gone as if it were deleted.
      </p>
      ${field({
        label: 'Expires',
        hint: 'In your time zone. Leave it empty for a token that never expires.',
        error: sentence('expires_at'),
        control: html`<input
          name="at"
          type="datetime-local"
          min=${localTime(Date.now())}
          .defaultValue=${expires_at === undefined ? '' : localTime(Date.parse(expires_at))}
        />`,
      })}`,
    bodyOf: (form) => {
      const text = String(form.get('at') ?? '')
      return { expires_at: text === '' ? null : new Date(text).toISOString() }
    },
  })

/** Asks for other metadata. */
export const editMetadata = (api: Api, { id, metadata = {} }: TokenDetail): Promise<boolean> =>
  edit(api, id, {
    title: 'Edit metadata',
    submit: 'Save',
    members: ['metadata'],
    fields: (sentence) =>
      field({
        label: 'Metadata',
        hint: 'One entry a line: key: value. It is stored in clear text: no sensitive data here.',
        error: sentence('metadata'),
        control: html`<textarea name="metadata" rows="8" spellcheck="false" .defaultValue=${metadataText(metadata)}></textarea>`,
      }),
    bodyOf: (form) => {
      const parsed = parseMetadata(String(form.get('metadata') ?? ''))
      return 'line' in parsed
        ? `Line ${parsed.line} is not of the form key: value.`
        : { metadata: metadataPatch(metadata, parsed.metadata) }
    },
  })

/** Longest id that has to be typed to delete its token. */
const TYPED = 60

/** Deletes a token after its id was typed; true when it did. */
export const deleteToken = async (api: Api, id: string): Promise<boolean> => {
  const isSure = await confirm({
    title: 'Delete this token?',
    body: html`<p>Its data is gone for good. Calls that name it fail from then on.</p>`,
    action: 'Delete',
    danger: true,
    typed: id.length <= TYPED && id === id.trim() ? id : 'delete',
  })
  if (isSure) await api.call('DELETE', path`/tokens/${id}`)
  return isSure
}
