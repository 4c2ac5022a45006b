import { ApiError } from '../../api/problem.ts'
import { dialog } from '../../kit/dialog.ts'
import { formAction, formProblem, issue } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'

/** An error of the input, at its member, as the API would report it. */
export const invalid = (member: string, sentence: string): ApiError =>
  new ApiError({ status: 400, issues: { [member]: [sentence] } })

interface FormDialog<T> {
  readonly title: string
  /** Label of the button. */
  readonly submit: string
  /** Controls; `sentence`: what is wrong with a member, or a part of it. */
  readonly fields: (sentence: (member: string) => string | undefined) => TemplateResult
  /** Sends what the controls hold. What it throws is shown at its members. */
  readonly send: (text: (name: string) => string) => Promise<T>
}

/** A form in a dialog. What is typed lives in its controls only. Undefined: it was canceled. */
export const formDialog = <T>({ title, submit, fields, send }: FormDialog<T>): Promise<T | undefined> => {
  let close = (_value?: T) => {}
  const run = formAction(async (values) => {
    close(await send((name) => String(values.get(name) ?? '')))
  })
  return dialog<T>({
    title,
    body: (end) => {
      close = end
      const error = run.error.value
      const places = Object.keys(error?.issues ?? {})
      const shown: string[] = []
      const controls = fields((member) => {
        const own = places.filter((place) => place.replace(/[.[].*/s, '') === member)
        shown.push(...own)
        const sentences = own.map((place) =>
          `${place.slice(member.length + 1)} ${issue(error, place)}`.trim(),
        )
        return sentences.join('; ') || undefined
      })
      const isShown = places.length > 0 && places.every((place) => shown.includes(place))
      return html`<form @submit=${run.run}>
        ${controls} ${isShown ? nothing : formProblem(error, shown)}
        <div class="buttons">
          <button type="button" @click=${() => end()}>Cancel</button>
          <button class="primary" ?disabled=${run.busy.value}>${submit}</button>
        </div>
      </form>`
    },
  })
}
