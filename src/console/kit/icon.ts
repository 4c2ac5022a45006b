import { html, type TemplateResult } from './html.ts'

/** Lines in a square of 16. */
const PATHS = {
  add: 'M8 3v10M3 8h10',
  check: 'm3 8.5 3.5 3.5L13 4.5',
  close: 'm4 4 8 8m0-8-8 8',
  copy: 'M5.5 5.5h8v8h-8zm5 0v-3h-8v8h3',
  down: 'm4 6 4 4 4-4',
  menu: 'M2 4h12M2 8h12M2 12h12',
  search: 'M11 7a4 4 0 1 1-8 0 4 4 0 0 1 8 0m-1 3 3.5 3.5',
  up: 'm4 10 4-4 4 4',
} as const

/** A picture as high as the text beside it, in its colour. The control around it has the name. */
export const icon = (name: keyof typeof PATHS): TemplateResult =>
  html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${PATHS[name]} /></svg>`
