import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const formulasScreens: readonly Screen[] = [
  {
    path: '/formulas',
    title: 'Formulas',
    nav: 'Formulas',
    needs: (may) => may('reactor:read'),
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
