import t from 'tap'
import { CHECKSUMS } from '../../src/vault/checksums.ts'

const TABLE = {
  luhn: {
    good: ['4242424242424242', '79927398713', '378282246310005', '00'],
    bad: ['4242424242424241', '79927398710', '', '4', '4242 4242 4242 4242', '４２４２'],
  },
  aba: {
    good: ['021000021', '011401533', '091000019'],
    bad: ['021000022', '02100002', '0210000210', '', 'abcdefghi'],
  },
  iban: {
    good: ['GB82 WEST 1234 5698 7654 32', 'DE89370400440532013000', 'fr1420041010050500013m02606'],
    bad: ['GB82WEST12345698765433', 'DE8937040044053201300', '', 'XX00', 'DE89-3704-0044-0532-0130-00'],
  },
} as const

for (const [name, { good, bad }] of Object.entries(TABLE)) {
  const { passes } = CHECKSUMS[name as keyof typeof TABLE]
  t.test(`${name} accepts valid numbers`, async (t) => {
    for (const text of good) t.equal(passes(text), true, text)
  })
  t.test(`${name} detects typing errors`, async (t) => {
    for (const text of bad) t.equal(passes(text), false, text)
  })
}
