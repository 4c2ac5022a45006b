// node shop.js <token of a card>: a program that holds tokens only. Its environment names the forward proxy.
import { createClient } from './sdk.js'

const [token] = process.argv.slice(2)
const client = createClient('key_of_the_provider')
const charge = await client.charge({
  amount: 1999,
  card: { number: `{{ ${token} | json: '$.number' }}`, cvc: `{{ ${token} | json: '$.cvc' }}` },
})
process.stdout.write(JSON.stringify(charge))
