/** Templates. Text from the API enters a page through their bindings only, which show it as text. */
export { html, nothing, render, svg, type TemplateResult } from 'lit-html'
export { guard } from 'lit-html/directives/guard.js'
export { live } from 'lit-html/directives/live.js'
export { createRef, type Ref, ref } from 'lit-html/directives/ref.js'
export { repeat } from 'lit-html/directives/repeat.js'
