import t from 'tap'
import { card } from '../../plugins/card/card.ts'

const { normalize } = card(3600)

t.test('a cvc is stored as a string', async (t) => {
  t.same(normalize?.({ number: '4242424242424242', cvc: 123 }), { number: '4242424242424242', cvc: '123' })
  t.same(normalize?.({ number: '4242424242424242', cvc: '012' }), { number: '4242424242424242', cvc: '012' })
})

t.test('null members are absent, and unknown members of a card are not stored', async (t) => {
  const sent = {
    track2: 'x',
    cvc: null,
    expiration_month: null,
    expiration_year: 2030,
    number: '4242424242424242',
  }
  t.same(normalize?.(sent), { number: '4242424242424242', expiration_year: 2030 })
})

t.test('the cvc expires as configured', async (t) => {
  t.same(card(60).ephemeral, [{ at: '/cvc', seconds: 60 }])
})
