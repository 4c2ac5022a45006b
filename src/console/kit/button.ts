import { html, nothing, type TemplateResult } from './html.ts'

interface ButtonOptions {
  /** Name for screen readers, where the label is too short or a picture. */
  readonly name?: string | undefined
  readonly kind?: 'primary' | 'danger' | 'plain' | undefined
  readonly disabled?: boolean
}

/** A button that submits no form. */
export const button = (
  label: TemplateResult | string,
  click: (event: Event) => unknown,
  { name, kind, disabled = false }: ButtonOptions = {},
): TemplateResult => html`<button
  type="button"
  class=${kind ?? nothing}
  aria-label=${name ?? nothing}
  ?disabled=${disabled}
  @click=${click}
>${label}</button>`
