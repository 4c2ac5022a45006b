import { button } from './button.ts'
import { type CodeEditor, codeEditor } from './code-editor.ts'
import { action, formProblem } from './form.ts'
import { html, nothing, type TemplateResult } from './html.ts'
import type { JsonObject } from './json.ts'
import { mergePatch, objectText, parseObject } from './json-object.ts'
import { notice } from './notice.ts'
import { signal } from './signals.ts'

/** Names of values that are not in the page. */
export const hiddenValues = (names: readonly string[]): TemplateResult =>
  html`<p>Values of ${names.map((name, at) => html`${at === 0 ? '' : ', '}<code>${name}</code>`)}, hidden.</p>`

/**
 * The configuration of code as JSON. Its values may be secrets, which the API returns: they enter the page when
 * somebody asks for them. `save` gets a merge patch of what was changed.
 */
export const configurationForm = ({
  stored,
  save,
  isReadonly,
}: {
  readonly stored: () => JsonObject
  readonly save: (configuration: JsonObject) => Promise<void>
  readonly isReadonly: boolean
}): (() => TemplateResult) => {
  const open = signal<{ readonly editor: CodeEditor; readonly base: JsonObject } | undefined>(undefined)
  const invalid = signal<string | undefined>(undefined)
  const saving = action(async () => {
    const current = open.peek()
    if (current === undefined) return
    const { value, error } = parseObject(current.editor.text.peek())
    invalid.value = error
    if (value === undefined) return
    const patch = mergePatch(current.base, value)
    if (patch !== undefined) await save(patch)
    open.value = undefined
    notice('done', patch === undefined ? 'Nothing was changed.' : 'Configuration saved.')
  })
  const show = () => {
    const base = stored()
    saving.reset()
    invalid.value = undefined
    open.value = {
      editor: codeEditor({
        id: 'configuration-json',
        label: 'Configuration (JSON)',
        text: objectText(base),
        rows: 8,
      }),
      base,
    }
  }
  const hide = () => {
    open.value = undefined
  }
  return () => {
    const current = open.value
    const names = Object.keys(stored())
    if (current === undefined)
      return html`${names.length === 0 ? html`<p>No values.</p>` : hiddenValues(names)}
        ${
          isReadonly && names.length === 0
            ? nothing
            : html`<div class="buttons">
                ${button(isReadonly ? 'Show values' : names.length === 0 ? 'Add values' : 'Show and edit values', show)}
              </div>`
        }`
    return html`
      ${formProblem(saving.error.value)}
      <form @submit=${saving.run}>
        ${current.editor.view({ error: invalid.value, readonly: isReadonly })}
        <div class="buttons">
          ${isReadonly ? nothing : html`<button class="primary" ?disabled=${saving.busy.value}>Save configuration</button>`}
          ${button(isReadonly ? 'Hide' : 'Cancel', hide)}
        </div>
      </form>
    `
  }
}
