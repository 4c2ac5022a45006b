import { html, live, nothing, type TemplateResult } from '../../kit/html.ts'
import type { PermissionInfo } from './types.ts'

export interface PermissionBoxes {
  readonly legend: string
  /** False: a heading above shows the legend. */
  readonly isTitled: boolean
  readonly known: readonly PermissionInfo[]
  readonly held: readonly string[]
  readonly error?: string | undefined
  /** What is said beside a permission. */
  readonly note?: (permission: string) => string | undefined
  change(held: readonly string[]): void
}

/** A box for each permission that the type of the application allows, and for those that are held. */
export const permissionBoxes = ({
  legend,
  isTitled,
  known,
  held,
  error,
  note,
  change,
}: PermissionBoxes): TemplateResult => {
  const unknown = held.filter((type) => !known.some((info) => info.type === type))
  const all = [
    ...known,
    ...unknown.map((type) => ({ type, description: 'Not allowed for this type of application' })),
  ]
  return html`<fieldset class=${isTitled ? 'boxes' : 'boxes bare'}>
    <legend class=${isTitled ? '' : 'visually-hidden'}>${legend}</legend>
    ${all.map(({ type, description }) => {
      const beside = note?.(type)
      return html`<label class="box">
        <input
          type="checkbox"
          .checked=${live(held.includes(type))}
          @change=${(event: Event) => {
            const isOn = (event.target as HTMLInputElement).checked
            const next = held.filter((one) => one !== type)
            change(isOn ? [...next, type] : next)
          }}
        />
        <span><code>${type}</code> <span class="soft small">${description}${beside === undefined ? nothing : `. ${beside}`}</span></span>
      </label>`
    })}
    ${error === undefined ? nothing : html`<p class="error">${error}</p>`}
  </fieldset>`
}
