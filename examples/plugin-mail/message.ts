interface Invitation {
  readonly tenant_id: string
  readonly id: string
  readonly email: string
  readonly role: string
  readonly expires_at: number
}

/** Checks that a header value has no line break. */
const oneLine = (text: string): string => {
  if (/[\r\n]/.test(text)) throw new Error('a header must not contain a line break')
  return text
}

/**
 * The mail for an invitation, in the Internet Message Format (RFC 5322). `page`: URL where invitations are accepted.
 */
export const messageOf = (
  { id, tenant_id, email, role, expires_at }: Invitation,
  { from, page }: { readonly from: string; readonly page: string },
): string => {
  const link = new URL(page)
  link.searchParams.set('tenant', tenant_id)
  link.searchParams.set('invitation', id)
  return [
    `From: ${oneLine(from)}`,
    `To: ${oneLine(email)}`,
    `Subject: You are invited`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    '',
    `You are invited to join as ${role}. Until ${new Date(expires_at).toUTCString()}, go to`,
    '',
    link.href,
    '',
  ].join('\r\n')
}
