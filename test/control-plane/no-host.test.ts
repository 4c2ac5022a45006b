import t from 'tap'
import { NO_HOST } from '../../src/control-plane/forward-listeners.ts'
import { createDestinationCheck } from '../../src/egress/check-destination.ts'
import { parseHostPattern } from '../../src/egress/host-pattern.ts'

t.test('no tenant can bind the name of the default filter chain', async (t) => {
  for (const host of [NO_HOST, `*.${NO_HOST}`, `${NO_HOST}.`])
    t.equal(parseHostPattern(host), undefined, host)
  const check = createDestinationCheck({ allow: ['0.0.0.0/0'], ports: '*', http: true })
  t.throws(() => check(`https://${NO_HOST}/v1`), { code: 'invalid_destination' })
})
