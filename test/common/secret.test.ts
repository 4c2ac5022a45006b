import { format, inspect } from 'node:util'
import t from 'tap'
import { Secret } from '../../src/common/secret.ts'

t.test('a secret prints as [secret] in every way of printing', async (t) => {
  const secret = new Secret('4242424242424242')
  const printed = [
    String(secret),
    `${secret}`,
    `x${secret as unknown as string}`,
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ deep: { er: [secret] } }, { depth: 9, showHidden: true }),
    format('%s %o %O %j', secret, secret, secret, secret),
    Object.entries(secret).join(),
    JSON.stringify(structuredClone({ ...secret })),
  ]
  for (const text of printed) t.notMatch(text, '4242')
  t.equal(String(secret), '[secret]')
  t.equal(secret.reveal(), '4242424242424242')
})
