/** Lines that `npm start` prints (src/supervisor/startup-banner.ts), as calls of the page and as lines of a shell. */

export const DEMO_URL = 'https://demo.sidevault.test/pay'

export const APPLICATION = {
  name: 'First steps',
  type: 'private',
  permissions: ['token:create', 'token:read', 'token:use'],
}

export const CARD = {
  type: 'card',
  data: { number: '4242424242424242', expiration_month: 12, expiration_year: 2030, cvc: '123' },
}

/** Body of the call to the destination, with an expression in the place of the card number. */
export const payment = (token: string) => ({ card: `{{ ${token} | json: '$.number' }}` })

const JSON_TYPE = "-H 'Content-Type: application/json'"

const field = (name: string): string => String.raw`sed -n 's/.*"${name}":"\([^"]*\)".*/\1/p'`

/** The three steps as lines for sh, bash, dash and zsh. Each line uses variables that earlier lines set. */
export const shellLines = ({ origin, prefix }: { readonly origin: string; readonly prefix: string }) => {
  const key = (variable: string) => `-H "${prefix}-API-KEY: $${variable}"`
  const body = String.raw`"{\"card\":\"{{ $TOKEN | json: '\$.number' }}\"}"`
  return [
    `KEY=$(curl -s ${origin}/applications ${key('SIDEVAULT_API_KEY')} ${JSON_TYPE} -d '${JSON.stringify(APPLICATION)}' | ${field('key')})`,
    `TOKEN=$(curl -s ${origin}/tokens ${key('KEY')} ${JSON_TYPE} -d '${JSON.stringify(CARD)}' | ${field('id')})`,
    `curl -s ${origin}/proxy ${key('KEY')} -H '${prefix}-PROXY-URL: ${DEMO_URL}' ${JSON_TYPE} -d ${body}`,
  ]
}
