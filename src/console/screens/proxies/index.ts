import { html } from '../../kit/html.ts'
import type { Screen } from '../../kit/screen.ts'

export const proxiesScreens: readonly Screen[] = [
  {
    path: '/proxies',
    title: 'Proxies',
    nav: 'Proxies',
    needs: (may) => may('proxy:read'),
    open: () => ({ view: () => html`<p>Nothing here yet.</p>` }),
  },
]
