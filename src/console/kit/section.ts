import { html, nothing, type TemplateResult } from './html.ts'

/** A part of a screen with a heading. `id` is the id of the heading. */
export const section = (id: string, title: string, body: TemplateResult): TemplateResult => html`<section
  class="part"
  aria-labelledby=${id}
>
  <h2 id=${id}>${title}</h2>
  ${body}
</section>`

/** A few facts beside each other, large. */
export const figures = (
  facts: readonly { readonly label: string; readonly value: TemplateResult | string }[],
): TemplateResult => html`<dl class="figures">
  ${facts.map(({ label, value }) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
</dl>`

/** Names beside each other. */
export const badges = (texts: readonly string[]): TemplateResult => html`<ul class="badges">
  ${texts.map((text) => html`<li class="badge">${text}</li>`)}
</ul>`

export type Fact = readonly [name: string, value: unknown]

/** Names with their values. Those without a value are left out. */
export const facts = (list: readonly Fact[]): TemplateResult => html`<dl class="facts">
  ${list.map(([name, value]) => (value === undefined ? nothing : html`<dt>${name}</dt><dd>${value}</dd>`))}
</dl>`

/** Screens that share one item of the navigation. */
export interface Tabs {
  readonly label: string
  readonly screens: readonly (readonly [path: string, title: string])[]
}

/** Links between the screens, of which that with the path `open` is open. */
export const tabLinks = ({ label, screens }: Tabs, open: string): TemplateResult => html`<nav
  class="tabs"
  aria-label=${label}
>
  ${screens.map(
    ([path, title]) =>
      html`<a href=${`#${path}`} aria-current=${path === open ? 'page' : nothing}>${title}</a>`,
  )}
</nav>`
