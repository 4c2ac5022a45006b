/** Stores the card with a session, shows its mask, and has the shop's server pay with the token. */
interface Settings {
  readonly vault: string
  readonly publicKey: string
}

const json = async (response: Response) => {
  const body = await response.json()
  if (!response.ok) throw new Error(body.detail)
  return body
}

/** A call of the shop's own server. */
const shop = async (path: string, body: object) =>
  json(
    await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  )

/** A call of the vault, which is another origin. */
const vault = async ({ vault }: Settings, key: string, method: string, path: string, body?: object) =>
  json(
    await fetch(vault + path, {
      method,
      headers: { 'svc-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )

const pay = async (form: FormData): Promise<string> => {
  const settings: Settings = await json(await fetch('/settings'))
  const session = await vault(settings, settings.publicKey, 'POST', '/sessions')
  const { container } = await shop('/authorize', { nonce: session.nonce })
  const { id } = await vault(settings, session.session_key, 'POST', '/tokens', {
    type: 'card',
    data: {
      number: form.get('number'),
      expiration_month: Number(form.get('month')),
      expiration_year: Number(form.get('year')),
    },
    containers: [container],
  })
  const { data } = await vault(settings, session.session_key, 'GET', `/tokens/${id}`)
  const { status } = await shop('/pay', { token: id })
  return `${data.number}: ${status}`
}

const form = document.querySelector('form') as HTMLFormElement
const status = document.querySelector('[role=status]') as HTMLElement
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  status.textContent = '…'
  status.textContent = await pay(new FormData(form)).catch((error: Error) => error.message)
})
