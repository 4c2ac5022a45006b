// The official SDK of a payment provider, unmodified. It holds a token in the place of the card.
import Stripe from 'stripe'

const [host, port, token] = process.argv.slice(2)
const stripe = new Stripe('sk_test_own', {
  host,
  port: Number(port),
  maxNetworkRetries: 0,
  httpClient: Stripe.createFetchHttpClient(),
})
const card = {
  number: `{{ ${token} | json: '$.number' }}`,
  exp_month: `{{ ${token} | json: '$.expiration_month' }}`,
  exp_year: `{{ ${token} | json: '$.expiration_year' }}`,
}
const method = await stripe.paymentMethods.create({ type: 'card', card })
const intent = await stripe.paymentIntents.create({
  amount: 1000,
  currency: 'eur',
  payment_method: method.id,
  confirm: true,
})
const rejected = await stripe.paymentIntents.retrieve('pi_unknown').catch((error) => error.type)
console.log(JSON.stringify({ method: method.id, status: intent.status, rejected }))
