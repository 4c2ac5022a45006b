import { html, nothing, type TemplateResult } from './html.ts'

/** A checkbox beside its label. `name` is the form member, present when the box is checked. */
export const checkbox = ({
  name,
  label,
  checked,
  hint,
  error,
}: {
  readonly name: string
  readonly label: string
  readonly checked: boolean
  readonly hint?: string
  readonly error?: string | undefined
}): TemplateResult => html`<div class="field check">
  <label
    ><input
      type="checkbox"
      name=${name}
      .checked=${checked}
      aria-describedby=${hint === undefined ? nothing : `${name}-hint`}
    /><span>${label}</span></label
  >
  ${hint === undefined ? nothing : html`<p class="hint" id=${`${name}-hint`}>${hint}</p>`}
  ${error === undefined ? nothing : html`<p class="error">${error}</p>`}
</div>`
