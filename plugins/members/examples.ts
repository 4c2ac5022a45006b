import type { Example } from '#sdk'

const TENANT_ID = 'a8f5b0f4-5d1b-4c3a-9b6e-2f1d7c4e8a01'
const MANAGEMENT_ID = '0e9a7f64-1d2b-4a58-b7c3-94d5e6f70812'
const USER_ID = 'b4d2e6f8-1a3c-4957-8e60-7f9b5d3c1a28'

const member = {
  id: '6f0d9c3b-2e85-4a17-b94c-8d1e5a7f3c62',
  tenant_id: TENANT_ID,
  role: 'ADMIN',
  user: { id: USER_ID, email: 'grace@example.com' },
  created_by: USER_ID,
  created_at: '2026-03-01T12:00:00.000+00:00',
}

const modified = { modified_by: MANAGEMENT_ID, modified_at: '2026-03-02T09:30:00.000+00:00' }

const pageOf = (items: readonly object[]) => ({
  pagination: { total_items: items.length, page_number: 1, page_size: 20, total_pages: 1 },
  data: items,
})

export const listMembers: readonly Example[] = [
  { summary: 'The first page', input: { page: 1, size: 20 }, output: pageOf([member]) },
]

export const getMember: readonly Example[] = [
  { summary: 'By its id', input: { id: member.id }, output: member },
]

export const updateMember: readonly Example[] = [
  {
    summary: 'Another role',
    input: { id: member.id, role: 'BILLING' },
    output: { ...member, role: 'BILLING', ...modified },
  },
]

export const removeMember: readonly Example[] = [
  { summary: 'By its id', input: { id: member.id }, output: {} },
]

const invitation = {
  id: '9e8d7c6b-5a49-4382-9170-6f5e4d3c2b1a',
  tenant_id: TENANT_ID,
  email: 'alan@example.com',
  role: 'ADMIN',
  status: 'PENDING',
  expires_at: '2026-03-04T12:00:00.000+00:00',
  created_by: MANAGEMENT_ID,
  created_at: '2026-03-01T12:00:00.000+00:00',
}

export const invite: readonly Example[] = [
  { summary: 'An administrator', input: { email: 'alan@example.com' }, output: invitation },
]

export const listInvitations: readonly Example[] = [
  { summary: 'The first page', input: { page: 1, size: 20 }, output: pageOf([invitation]) },
]

export const getInvitation: readonly Example[] = [
  { summary: 'By its id', input: { id: invitation.id }, output: invitation },
]

export const resend: readonly Example[] = [
  {
    summary: 'Open for another 72 hours',
    input: { id: invitation.id },
    output: { ...invitation, expires_at: '2026-03-05T09:30:00.000+00:00', ...modified },
  },
]

export const removeInvitation: readonly Example[] = [
  { summary: 'By its id', input: { id: invitation.id }, output: {} },
]
