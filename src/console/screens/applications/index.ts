import type { Application } from '../../api/types.ts'
import { html } from '../../kit/html.ts'
import { namedList } from '../../kit/named-list.ts'
import type { Screen } from '../../kit/screen.ts'
import { relativeTime } from '../../kit/time.ts'
import { may } from '../../session.ts'
import { applicationScreen } from './application.ts'
import { createScreen } from './create.ts'
import { editScreen } from './edit.ts'
import { expiry } from './keys.ts'
import { phraseOf } from './phrase.ts'

const listScreen: Screen = {
  path: '/applications',
  title: 'Applications',
  nav: 'Applications',
  needs: (may) => may('application:read'),
  open: (context) =>
    namedList<Application>(context, {
      path: '/applications',
      screen: '/applications',
      title: 'Applications',
      create: may('application:create') ? 'New application' : undefined,
      choices: [{ member: 'type', label: 'Type', values: ['management', 'private', 'public'] }],
      columns: [
        { head: 'Name', cell: ({ name }) => name },
        { head: 'Type', cell: ({ type }) => html`<span class="badge">${type}</span>` },
        { head: 'May do', kind: 'wide', cell: phraseOf },
        { head: 'Created', cell: ({ created_at }) => relativeTime(created_at) },
        { head: 'Expires', cell: ({ expires_at }) => expiry(expires_at) },
      ],
      empty: 'No applications yet.',
    }),
}

export const applicationsScreens: readonly Screen[] = [
  listScreen,
  createScreen,
  applicationScreen,
  editScreen,
]
