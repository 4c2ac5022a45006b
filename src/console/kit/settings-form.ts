import { may } from '../session.ts'
import type { EntityPage } from './entity-screen.ts'
import { formAction, formProblem, issue } from './form.ts'
import { html, type TemplateResult } from './html.ts'
import { notice } from './notice.ts'

/** The form of an entity's members: sends what `changes` finds in it, undefined for nothing. */
export const settingsForm = <T>(
  { patch }: Pick<EntityPage<T>, 'patch'>,
  options: {
    readonly permission: string
    readonly changes: (form: FormData) => object | undefined
    /** `wrong`: the issue of a member. */
    readonly fields: (wrong: (place: string) => string | undefined) => TemplateResult
    readonly done: string
  },
): (() => TemplateResult) => {
  const save = formAction(async (fields) => {
    const changes = options.changes(fields)
    if (changes === undefined) return notice('info', 'Nothing was changed.')
    await patch(changes)
    notice('done', options.done)
  })
  return () => {
    const isAllowed = may(options.permission)
    const shown = new Set<string>()
    const fields = options.fields((place) => {
      shown.add(place)
      return issue(save.error.value, place)
    })
    return html`
      ${formProblem(save.error.value, [...shown])}
      <form
        @submit=${save.run}
      >
        <fieldset class="bare" ?disabled=${!isAllowed}>
          ${fields}
          ${
            isAllowed
              ? html`<div class="buttons">
                  <button class="primary" ?disabled=${save.busy.value}>Save settings</button>
                </div>`
              : html`<p class="soft">Your key may not change this.</p>`
          }
        </fieldset>
      </form>
    `
  }
}
