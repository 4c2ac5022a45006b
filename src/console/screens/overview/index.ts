import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const overviewScreens: readonly Screen[] = [
  {
    path: '/overview',
    title: 'Overview',
    nav: 'Overview',
    needs: () => true,
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
