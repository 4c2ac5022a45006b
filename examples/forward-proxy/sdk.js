// The SDK of a provider, as npm has it: its URL is fixed, and it knows nothing of Sidevault.
const API = 'https://demo.sidevault.test/v1'

export const createClient = (apiKey) => ({
  async charge(order) {
    const response = await fetch(`${API}/charges`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(order),
    })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    return response.json()
  },
})
