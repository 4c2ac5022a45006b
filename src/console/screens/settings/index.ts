import { html, type TemplateResult } from '../../kit/html.ts'
import type { Screen, ScreenContext, ScreenInstance } from '../../kit/screen.ts'
import { section } from '../../kit/section.ts'
import { may } from '../../session.ts'
import { createDelegations } from './delegations.ts'
import { createKeys, createNode } from './node.ts'
import { createInvitations, createMembers } from './people.ts'
import { createTenant } from './tenant.ts'
import { createUsage } from './usage.ts'

interface Section {
  readonly id: string
  readonly title: string
  readonly needs?: string
  create(context: ScreenContext): () => TemplateResult
}

const SECTIONS: readonly Section[] = [
  { id: 'tenant', title: 'Tenant', needs: 'tenant:read', create: createTenant },
  { id: 'usage', title: 'Usage', needs: 'report:read', create: createUsage },
  { id: 'members', title: 'Members', needs: 'tenant:member:read', create: createMembers },
  { id: 'invitations', title: 'Invitations', needs: 'tenant:invitation:read', create: createInvitations },
  { id: 'keys', title: 'Keys', create: createKeys },
  { id: 'delegations', title: 'Delegated gateways', needs: 'tenant:read', create: createDelegations },
  { id: 'node', title: 'This node', create: ({ signal }) => createNode(signal) },
]

const open = (context: ScreenContext): ScreenInstance => {
  const sections = SECTIONS.filter(({ needs }) => needs === undefined || may(needs)).map((section) => ({
    ...section,
    view: section.create(context),
  }))
  return {
    view: () => html`${sections.map(({ id, title, view }) => section(id, title, view()))}`,
  }
}

export const settingsScreens: readonly Screen[] = [
  {
    path: '/settings',
    title: 'Settings',
    nav: 'Settings',
    needs: (may) => SECTIONS.some(({ needs }) => needs !== undefined && may(needs)),
    open,
  },
]
